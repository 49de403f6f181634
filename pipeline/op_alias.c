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
    { " autocontrast autolevel autolevels contrast levels normalise normalize ",
      "histeq and clahe raise contrast" },
    { " equalisation equalise equalization equalize equalizehist even ", "use histeq" },
    { " inverse invert negate negative ",
      "use convolve with taps=0,0,0,0,-1,0,0,0,0 and divisor=1 and offset=255" },
    { " color colorize colour colourise hue modulate saturate saturation sepia temperature tint "
      "vibrance ",
      "no operator changes hues; one of your own can (burin check --help)" },
    { " posterise posterize quantize round roundcorners solarize vignette ",
      "no operator does that; one of your own can (burin check --help)" },
    { " blend composite draw overlay text watermark watermarkimage ",
      "nothing is drawn on an image here" },
    { " cover contain downscale inside miniature reduce scale shrink size small smaller thumb "
      "thumbnail thumbs upscale ",
      "use resize" },
    { " border embed extend frame letterbox pad ", "use resize with fit=contain" },
    { " autocrop autotrim removeborder trimborder ", "use trim" },
    { " cut region ", "use extract or crop" },
    { " mosaic pixelate pixelize ",
      "use /pipeline: resize to a small width with kernel=box, then zoom" },
    { " autoorient autorotate exifrotate orient ", "every image is turned as its EXIF says" },
    { " fliphorizontal hflip mirror ", "use flop" },
    { " flipvertical vflip ", "use flip" },
    { " rot90 transpose turn ", "use rotate" },
    { " despeckle median noise ", "no operator is a median filter; blur smooths" },
    { " boxblur denoise gaussian gaussianblur smooth ", "use blur" },
    { " crisp sharpness unsharp unsharpmask usm ", "use sharpen" },
    { " canny contour contours line lines outline outlines prewitt sketch sobel ", "use edge" },
    { " convolution emboss filter kernel laplace laplacian ", "use convolve with taps" },
    { " darken exposure lighten ", "use brightness or gamma" },
    { " binarise binarize twotone ", "use threshold" },
    { " liquidrescale object remove removeobject retarget seam seamcarve seamcarving ",
      "use carve" },
    { " average avg ", "use mean" },
    { " lqip placeholder ", "blurhash and thumbhash make placeholders" },
    { " enlarge magnify ", "use zoom or resize" },
    { " colors colours dominantcolor palette ", "use dominant" },
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
