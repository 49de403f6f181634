// SPDX-License-Identifier: Apache-2.0
/* EXIF and XMP of a file, as results may carry them: codec_keep_metadata() of codec.h. */
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/common/exif.h"
#include "pipeline/utf8.h"

#include <stdlib.h>

#include <zlib.h>

/* ---- XMP */

/* The picture is upright: a digit behind the property's name, in an attribute or an element,
 * becomes 1. */
static void set_upright(char *text, size_t length) {
    static const char name[] = "tiff:Orientation";
    char *at = text, *end = text + length;
    while ((at = memmem(at, (size_t)(end - at), name, sizeof name - 1))) {
        at += sizeof name - 1;
        while (at < end && strchr("= \"'>\t\r\n", *at)) at++;
        if (at < end && *at >= '1' && *at <= '8') *at = '1';
    }
}

/* Text without a DTD, whose entities could grow or lead elsewhere, and with RDF in it. */
static bool is_xmp(const char *text, size_t length) {
    for (size_t at = 0, step; at < length; at += step) {
        step = utf8_character(text + at, length - at);
        if (!step || ((uint8_t)text[at] < ' ' && !strchr("\t\r\n", text[at])) || !text[at])
            return false;
    }
    return length && memmem(text, length, "<rdf:RDF", 8) &&
           memmem(text, length, "</rdf:RDF>", 10) && !memmem(text, length, "<!", 2);
}

/* false: it is broken, or too large. */
static bool keep_xmp(const struct metadata_places *places, size_t most,
                     struct metadata_texts *texts) {
    uLongf length = places->packed ? most : places->xmp_length;
    if (length > most) return false;
    uint8_t *text = malloc(length + !length);
    bool good = text;
    if (good && places->packed)
        good = uncompress(text, &length, places->xmp, places->xmp_length) == Z_OK;
    else if (good)
        memcpy(text, places->xmp, length);
    if (!good || !is_xmp((const char *)text, length)) {
        free(text);
        return false;
    }
    set_upright((char *)text, length);
    texts->xmp = text;
    texts->xmp_length = length;
    return true;
}

/* ---- EXIF */

/* false: some of it was left out. */
static bool keep_exif(const struct metadata_places *places, size_t most, int kept,
                      struct metadata_texts *texts) {
    const bool named = places->exif_length >= 6 && memcmp(places->exif, "Exif\0", 6) == 0;
    const size_t skip = named ? 6 : 0;
    bool broken = false;
    uint8_t *bytes = malloc(most + !most);
    if (!bytes) return false;
    texts->exif_length[kept] =
        exif_rebuild(places->exif + skip, places->exif_length - skip,
                     kept == METADATA_KEEP ? EXIF_ALL : EXIF_COPYRIGHT, bytes, most, &broken);
    texts->exif[kept] = bytes;
    return !broken;
}

/* ---- both */

void codec_keep_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, int kept, struct metadata *metadata,
                         uint32_t *notes) {
    const struct format_record *format = format_record(probe->format);
    struct metadata_texts *texts = &metadata->texts;
    struct metadata_places places = { .exif = NULL };
    bool good = true;
    if (kept == METADATA_NONE || texts->exif[kept] || !format->find_metadata) return;
    format->find_metadata(bytes, length, &places);
    const size_t most = limits->metadata_max < METADATA_MAX ? limits->metadata_max : METADATA_MAX;
    if (places.exif_length) good = keep_exif(&places, most, kept, texts);
    if (places.xmp_length && kept == METADATA_KEEP && !texts->xmp)
        good &= keep_xmp(&places, most, texts);
    if (!good) *notes |= NOTE_METADATA_DROPPED;
}
