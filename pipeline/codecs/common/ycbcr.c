// SPDX-License-Identifier: Apache-2.0
/* How it works. A table has the product of each sample and a coefficient, so a pixel takes lookups
 * and additions. The largest sum is below 2.2 times white: 16 bits of 2^-13 fit an int32_t. */
#include "pipeline/codecs/common/ycbcr.h"

#include <stdlib.h>

enum { Y, CB, CR, ALPHA, PLANES, SPARE = PLANES, ROWS };
enum { TEN_THOUSAND = 10000 };
enum { IDENTITY = 0, UNSPECIFIED = 2 };

/* The weights of red and blue in luma, times 10000. */
static const struct matrix {
    unsigned number;
    int red, blue;
} matrices[] = { { 1, 2126, 722 },  { UNSPECIFIED, 2990, 1140 }, { 4, 3000, 1100 },
                 { 5, 2990, 1140 }, { 6, 2990, 1140 },           { 7, 2120, 870 },
                 { 9, 2627, 593 } };

static unsigned fraction(const struct ycbcr *ycbcr) {
    return ycbcr->from.bits > 8 ? YCBCR_FRACTION_16 : YCBCR_FRACTION_8;
}

__extension__ typedef __int128 exact; /* a product may take 67 bits */

/* Fills a table: (sample - MIDDLE) / RANGE * TIMES / 10000 of the largest result. */
static void fill(struct ycbcr *ycbcr, enum ycbcr_product product, int64_t middle, int64_t range,
                 int64_t times) {
    int32_t *table = ycbcr->tables + product * ycbcr->samples;
    const int64_t one = (int64_t)(ycbcr->from.bits > 8 ? 65535 : 255) << fraction(ycbcr);
    const exact below = (exact)range * TEN_THOUSAND;
    for (uint32_t v = 0; v < ycbcr->samples; v++) {
        const exact twice = 2 * (exact)((int64_t)v - middle) * one * times + below;
        table[v] = (int32_t)(twice / (2 * below) - (twice % (2 * below) < 0)); /* half up */
    }
}

static void fill_tables(struct ycbcr *ycbcr, const struct matrix *matrix) {
    const struct ycbcr_planes *from = &ycbcr->from;
    const unsigned shift = from->bits - 8;
    const int64_t largest = ycbcr->samples - 1, middle = INT64_C(128) << shift;
    const int64_t luma = from->limited ? INT64_C(219) << shift : largest;
    const int64_t chroma = from->limited ? INT64_C(224) << shift : largest;
    const int64_t red = matrix->red, blue = matrix->blue, green = TEN_THOUSAND - red - blue;
    const int64_t by_red = 2 * (TEN_THOUSAND - red), by_blue = 2 * (TEN_THOUSAND - blue);
    fill(ycbcr, YCBCR_LUMA, from->limited ? INT64_C(16) << shift : 0, luma, TEN_THOUSAND);
    fill(ycbcr, YCBCR_RED_CR, middle, chroma, by_red);
    fill(ycbcr, YCBCR_BLUE_CB, middle, chroma, by_blue);
    fill(ycbcr, YCBCR_GREEN_CR, middle, chroma * green, -by_red * red);
    fill(ycbcr, YCBCR_GREEN_CB, middle, chroma * green, -by_blue * blue);
    fill(ycbcr, YCBCR_OPACITY, 0, largest, TEN_THOUSAND);
}

static const struct matrix *find_matrix(unsigned number) {
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (matrices[i].number == number) return &matrices[i];
    return NULL;
}

enum status ycbcr_init(struct ycbcr *ycbcr, const struct ycbcr_planes *planes,
                       struct failure *failure) {
    const bool gray = !planes->planes[CB];
    const bool copies = planes->matrix == IDENTITY && !gray;
    const struct matrix *matrix = find_matrix(gray || copies ? UNSPECIFIED : planes->matrix);
    *ycbcr = (struct ycbcr){ .from = *planes, .copies = copies, .samples = 1u << planes->bits };
    if (!matrix || (copies && (planes->halved_x || planes->halved_y)))
        return fail(failure, STATUS_NOT_AN_IMAGE,
                    "the colours of this image are coded by matrix %u of H.273, which is not read "
                    "here; send it as JPEG or PNG",
                    planes->matrix);
    ycbcr->tables = malloc(sizeof *ycbcr->tables * YCBCR_PRODUCTS * ycbcr->samples);
    ycbcr->rows = malloc(sizeof *ycbcr->rows * ROWS * planes->width);
    if (!ycbcr->tables || !ycbcr->rows)
        return fail(failure, STATUS_NO_MEMORY, "no memory for the colours of the image");
    fill_tables(ycbcr, matrix);
    return STATUS_OK;
}

void ycbcr_release(struct ycbcr *ycbcr) {
    free(ycbcr->tables);
    free(ycbcr->rows);
    *ycbcr = (struct ycbcr){ .tables = NULL };
}

/* ---- samples of a row */

static uint16_t *row_of(const struct ycbcr *ycbcr, int plane) {
    return ycbcr->rows + (size_t)plane * ycbcr->from.width;
}

/* A sample beyond the plane's bits, from a decoder that went astray, counts as the largest. */
static void load(const struct ycbcr *ycbcr, int plane, uint32_t y, uint32_t count, uint16_t *to) {
    const uint8_t *bytes = ycbcr->from.planes[plane] + y * ycbcr->from.strides[plane];
    const uint16_t *wide = (const uint16_t *)(const void *)bytes;
    const uint16_t largest = (uint16_t)(ycbcr->samples - 1);
    for (uint32_t x = 0; x < count && ycbcr->from.bits == 8; x++) to[x] = bytes[x];
    for (uint32_t x = 0; x < count && ycbcr->from.bits > 8; x++)
        to[x] = wide[x] < largest ? wide[x] : largest;
}

/* Chroma of row Y at full width: sixteenths of the four samples around each pixel. */
static void load_chroma(const struct ycbcr *ycbcr, int plane, uint32_t y) {
    const struct ycbcr_planes *from = &ycbcr->from;
    const uint32_t width = from->width, height = from->height;
    const uint32_t across = from->halved_x ? (width + 1) / 2 : width;
    const uint32_t down = from->halved_y ? (height + 1) / 2 : height;
    uint16_t *to = row_of(ycbcr, plane), *spare = row_of(ycbcr, SPARE);
    if (!from->halved_x && !from->halved_y) {
        load(ycbcr, plane, y, width, to);
        return;
    }
    const uint32_t near = from->halved_y ? y / 2 : y;
    const uint32_t beside = y & 1 ? near + 1 : near ? near - 1 : 0;
    const uint32_t next = !from->halved_y ? near : beside < down ? beside : down - 1;
    load(ycbcr, plane, near, across, spare);
    load(ycbcr, plane, next, across, to);
    for (uint32_t x = 0; x < across; x++) spare[x] = (uint16_t)(3 * spare[x] + to[x]);
    for (uint32_t x = 0; x < width; x++) {
        const uint32_t here = from->halved_x ? x / 2 : x;
        const uint32_t other = x & 1 ? here + 1 : here ? here - 1 : 0;
        const uint32_t there = !from->halved_x ? here : other < across ? other : across - 1;
        to[x] = (uint16_t)((3u * spare[here] + spare[there] + 8) >> 4);
    }
}

/* ---- pixels */

static inline void make_pixels(const struct ycbcr *ycbcr, uint32_t left, uint32_t count, bool wide,
                               uint8_t *to) {
    const unsigned bits = wide ? YCBCR_FRACTION_16 : YCBCR_FRACTION_8;
    const uint32_t white = wide ? 65535 : 255;
    const bool gray = !ycbcr->from.planes[CB], alpha = ycbcr->from.planes[ALPHA] != NULL;
    const unsigned colours = gray ? 1 : 3, channels = colours + alpha;
    const uint16_t *row[PLANES];
    const int32_t *table[YCBCR_PRODUCTS];
    for (int p = 0; p < PLANES; p++) row[p] = row_of(ycbcr, p) + left;
    for (int p = 0; p < YCBCR_PRODUCTS; p++) table[p] = ycbcr->tables + (size_t)p * ycbcr->samples;
    for (uint32_t x = 0; x < count; x++) {
        const int32_t luma = table[YCBCR_LUMA][row[Y][x]];
        uint32_t pixel[4] = { ycbcr_settle(luma, bits, white) };
        if (ycbcr->copies) {
            pixel[1] = pixel[0];
            pixel[0] = ycbcr_settle(table[YCBCR_LUMA][row[CR][x]], bits, white);
            pixel[2] = ycbcr_settle(table[YCBCR_LUMA][row[CB][x]], bits, white);
        } else if (!gray) {
            const uint16_t cb = row[CB][x], cr = row[CR][x];
            pixel[0] = ycbcr_settle(luma + table[YCBCR_RED_CR][cr], bits, white);
            pixel[1] = ycbcr_settle(luma + table[YCBCR_GREEN_CB][cb] + table[YCBCR_GREEN_CR][cr],
                                    bits, white);
            pixel[2] = ycbcr_settle(luma + table[YCBCR_BLUE_CB][cb], bits, white);
        }
        if (alpha) pixel[colours] = ycbcr_settle(table[YCBCR_OPACITY][row[ALPHA][x]], bits, white);
        for (unsigned c = 0; c < colours && alpha && ycbcr->from.premultiplied; c++)
            pixel[c] = ycbcr_divide(pixel[c], pixel[colours], white);
        for (unsigned c = 0; c < channels; c++) {
            if (wide)
                ((uint16_t *)(void *)to)[x * channels + c] = (uint16_t)pixel[c];
            else
                to[x * channels + c] = (uint8_t)pixel[c];
        }
    }
}

void ycbcr_row(const struct ycbcr *ycbcr, uint32_t y, uint32_t left, uint32_t count, uint8_t *to) {
    const struct ycbcr_planes *from = &ycbcr->from;
    load(ycbcr, Y, y, from->width, row_of(ycbcr, Y));
    if (from->planes[CB]) load_chroma(ycbcr, CB, y);
    if (from->planes[CB]) load_chroma(ycbcr, CR, y);
    if (from->planes[ALPHA]) load(ycbcr, ALPHA, y, from->width, row_of(ycbcr, ALPHA));
    if (from->bits > 8)
        make_pixels(ycbcr, left, count, true, to);
    else
        make_pixels(ycbcr, left, count, false, to);
}
