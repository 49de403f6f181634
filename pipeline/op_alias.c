// SPDX-License-Identifier: Apache-2.0
#include "pipeline/op_alias.h"

#include "pipeline/builtin_ops.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* An alias stands between two blanks. A search finds nothing by those that no operator can do. */
static const struct {
    const char *names, *instead;
} aliases[] = {
    { " bw blackandwhite desaturate gray grey luma mono monochrome ", "use grayscale" },
    { " autocontrast autolevel autolevels normalise stretch ", "use normalize, histeq or clahe" },
    { " brightnesscontrast sigmoidal sigmoidalcontrast ", "use contrast or levels" },
    { " equalisation equalise equalization equalize equalizehist even ", "use histeq" },
    { " inverse invert negative ", "use negate" },
    { " channelmixer colormatrix colourmatrix mix mixer recolor recolour recomb ", "use matrix" },
    { " color colour modulate saturate vibrance ", "use saturation or hue" },
    { " hueshift huerotate ", "use hue" },
    { " colorize colourise colourize duotone monotone warm ", "use tint" },
    { " antique old vintage ", "use sepia" },
    { " temperature whitebalance ", "use matrix, with weights of red and blue" },
    { " posterise posterize quantise quantize ", "a PNG takes palette, colors and dither" },
    { " round roundcorners solarize vignette ",
      "no operator does that; one of your own can (burin check --help)" },
    { " blend logo overlay stamp watermark watermarkimage ",
      "use composite with a picture as the part overlay; no text is drawn" },
    { " annotate caption draw text ", "no text is drawn here; composite lays a picture over it" },
    { " cover contain downscale inside miniature reduce scale shrink size small smaller thumb "
      "thumbnail thumbs upscale ",
      "use resize" },
    { " addborder border embed expand extend extent frame letterbox margin padding ",
      "use pad, or resize with fit=contain" },
    { " autocrop autotrim removeborder trimborder ", "use trim" },
    { " cut region ", "use extract or crop" },
    { " blocks censor mosaic pixelize ", "use pixelate" },
    { " autoorient autorotate exifrotate orient ", "every image is turned as its EXIF says" },
    { " fliphorizontal hflip mirror ", "use flop" },
    { " flipvertical vflip ", "use flip" },
    { " rot90 transpose turn ", "use rotate" },
    { " blurmedian despeckle medianblur medianfilter noise speckles ", "use median" },
    { " boxblur denoise gaussian gaussianblur smooth ", "use blur" },
    { " crisp sharpness unsharp unsharpmask usm ", "use sharpen" },
    { " canny contour contours line lines outline outlines prewitt sketch sobel ", "use edge" },
    { " convolution emboss filter kernel laplace laplacian ", "use convolve with taps" },
    { " darken exposure lighten ", "use brightness, gamma or levels" },
    { " binarise binarize twotone ", "use threshold" },
    { " liquidrescale object remove removeobject retarget seam seamcarve seamcarving ",
      "use carve" },
    { " average avg ", "use mean" },
    { " lqip placeholder ", "blurhash and thumbhash make placeholders" },
    { " enlarge magnify ", "use zoom or resize" },
    { " colors colours dominantcolor palette ", "use dominant; a PNG takes palette and colors" },
    { " compress encode format optimise optimize quality ",
      "every operator takes type, quality and max_bytes" },
    { " exif identify metadata probe ", "POST /info reads type and size" },
    { " form ", "the page at / is a form" },
};

enum { ALIAS_MAX = 32 };

const char *op_alias(const char *name) {
    char word[ALIAS_MAX + 1] = " ";
    size_t length = 1;
    for (; *name && length < ALIAS_MAX - 1; name++)
        if (*name != '-' && *name != '_') word[length++] = (char)tolower((unsigned char)*name);
    if (*name || length == 1 || strchr(word + 1, ' ')) return NULL;
    word[length] = ' ';
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strstr(aliases[i].names, word)) return aliases[i].instead;
    return NULL;
}

/* Whether NAME is a word of TEXT. */
static bool has_word(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at == text || at[-1] == ' ') && !isalnum((unsigned char)at[length])) return true;
    return false;
}

const char *op_alias_words(const char *name, int place) {
    if (!builtin_op_find(name)) return NULL; /* a user's operator may be called "use" */
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strncmp(aliases[i].instead, "no ", 3) && has_word(aliases[i].instead, name) &&
            place-- == 0)
            return aliases[i].names + 1;
    return NULL;
}
