// SPDX-License-Identifier: Apache-2.0
/* How it works. Every array's length follows from the header and from the scan's length: of
 * unstuffed bits there are at most as many, a coefficient takes two of them at least, a block its
 * place in the frame. The arena is the arrays in turn, each at a multiple of JPEG_ARENA_ALIGN. */
#include "pipeline/codecs/jpeg/picture.h"
#include "pipeline/codecs/jpeg/scan.h"
#include "pipeline/codecs/jpeg/zigzag.h"

#include <string.h>

/* The file may lie in memory that others can write to, so the copy is judged, not the original. */
static void copy_code(struct jpeg_picture *picture, int number, const struct jpeg_code *code) {
    uint8_t *counts = picture->code_counts[number];
    size_t count = 0;
    if (!code->counts) return;
    memcpy(counts, code->counts, JPEG_CODE_LENGTHS);
    for (int i = 0; i < JPEG_CODE_LENGTHS; i++) count += counts[i];
    if (count > JPEG_SYMBOLS || !huffman_is_code(counts))
        memset(counts, 0, JPEG_CODE_LENGTHS);
    else
        memcpy(picture->code_symbols[number], code->symbols, count);
}

static void set_tables(struct jpeg_picture *picture, const struct jpeg_baseline *jpeg) {
    static const uint8_t natural[JPEG_BLOCK] = JPEG_ZIGZAG;
    for (int i = 0; i < JPEG_CODES; i++) {
        copy_code(picture, i, &jpeg->dc_codes[i]);
        copy_code(picture, JPEG_CODES + i, &jpeg->ac_codes[i]);
    }
    for (int c = 0; c < picture->components; c++)
        for (int i = 0; i < JPEG_BLOCK; i++)
            picture->steps[c][i] = (uint16_t)(jpeg->steps[c][i] << 6 | natural[i]);
}

/* Bits of the code of symbol 0, which is a difference of 0 or a block's end; 0: there is none. */
static uint32_t zero_bits(const struct jpeg_picture *picture, uint32_t number) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < JPEG_CODE_LENGTHS; i++)
        for (uint32_t k = 0; k < picture->code_counts[number][i]; k++)
            if (picture->code_symbols[number][place++] == 0) return i + 1;
    return 0;
}

/* Flat blocks are all of one length: they start at multiples of what it has in common with a
 * subsequence's, seen from any cut. */
static void set_guesses(struct jpeg_picture *picture) {
    const uint32_t kind = picture->kinds;
    uint32_t flat = zero_bits(picture, kind >> 2 & 1) + zero_bits(picture, 2 + (kind >> 3 & 1));
    picture->guesses = JPEG_GUESSES / picture->phases * picture->phases;
    picture->guess_step = flat ? flat & -flat : 1;
}

static uint32_t divide_up(uint32_t value, uint32_t by) {
    return (value + by - 1) / by;
}

/* Granlund and Montgomery, Division by Invariant Integers using Multiplication. */
static struct jpeg_divisor divisor_of(uint32_t value) {
    struct jpeg_divisor divisor = { 0 };
    uint32_t log2_up = 0;
    while ((UINT64_C(1) << log2_up) < value) log2_up++;
    if (value == 1) return divisor;
    divisor.reciprocal = (uint32_t)(((UINT64_C(1) << (31 + log2_up)) + value - 1) / value);
    divisor.shift = log2_up - 1;
    return divisor;
}

static void set_frame(struct jpeg_picture *picture, const struct jpeg_baseline *jpeg) {
    const uint32_t across = 8u * jpeg->across, down = 8u * jpeg->down;
    picture->width = jpeg->width;
    picture->height = jpeg->height;
    picture->components = jpeg->into.channels;
    picture->across = jpeg->across;
    picture->down = jpeg->down;
    picture->orientation = jpeg->orientation;
    picture->mcus_across = divide_up(jpeg->width, across);
    picture->mcus = picture->mcus_across * divide_up(jpeg->height, down);
    picture->interval = jpeg->interval ? jpeg->interval : picture->mcus;
    picture->segments = divide_up(picture->mcus, picture->interval);
    for (int c = 0; c < picture->components; c++) {
        const uint32_t kind = (uint32_t)c | (uint32_t)jpeg->dc[c] << 2 | (uint32_t)jpeg->ac[c] << 3;
        const uint32_t count = c ? 1 : (uint32_t)jpeg->across * jpeg->down;
        for (uint32_t i = 0; i < count; i++) picture->kinds |= kind << 4 * picture->phases++;
        picture->plane_stride[c] = picture->mcus_across * (c ? 8 : across);
    }
    picture->blocks = picture->mcus * picture->phases;
    picture->by_mcus_across = divisor_of(picture->mcus_across);
}

/* The bytes of the longest codes and numbers, each byte stuffed, and the markers of restarts. A
 * longer scan is no picture, and would take memory. */
static uint64_t scan_bytes_max(const struct jpeg_picture *picture) {
    const uint64_t block_bytes = (27 + 63 * 26 + 7) / 8;
    return 2 * block_bytes * picture->blocks + 4 * (uint64_t)picture->segments;
}

/* Coefficients, whole groups of eight. */
static uint32_t list_max(const struct jpeg_picture *picture) {
    const uint64_t by_bits = 4 * (uint64_t)picture->scan_bytes;
    const uint64_t by_blocks = (63 * (uint64_t)picture->blocks + 7) / 8 * 8;
    return (uint32_t)(by_bits < by_blocks ? by_bits : by_blocks);
}

bool jpeg_picture_init(struct jpeg_picture *picture, const struct jpeg_baseline *jpeg) {
    const size_t length = (size_t)(jpeg->bytes + jpeg->length - jpeg->scan);
    memset(picture, 0, sizeof *picture);
    if (length < 3 || length > JPEG_SCAN_BYTES_MAX) return false;
    if (memcmp(jpeg->scan + length - 2, "\xff\xd9", 2) != 0) return false;
    picture->scan = jpeg->scan;
    picture->scan_bytes = (uint32_t)length - 2;
    picture->pieces = divide_up(picture->scan_bytes, JPEG_PIECE_BYTES);
    set_frame(picture, jpeg);
    if (picture->scan_bytes > scan_bytes_max(picture)) return false;
    picture->list_max = list_max(picture);
    set_tables(picture, jpeg);
    set_guesses(picture);
    jpeg_picture_cut(picture, JPEG_SUB_LOG2, JPEG_PHASE_LEAD);
    return true;
}

/* Long blocks come into step after many bits, which short subsequences are not worth. */
static bool may_be_short(const struct jpeg_picture *picture, uint32_t log2) {
    return jpeg_subs(picture->scan_bytes, log2) <= JPEG_SHORT_SUBS &&
           8 * (uint64_t)picture->scan_bytes <= (uint64_t)JPEG_SHORT_BLOCK * picture->blocks;
}

void jpeg_picture_cut(struct jpeg_picture *picture, uint32_t log2, uint32_t lead) {
    while (log2 < JPEG_SUB_LOG2 && !may_be_short(picture, log2)) log2++;
    picture->sub_log2 = log2;
    picture->lead = lead;
    picture->subs_max = jpeg_subs(picture->scan_bytes, log2);
}

/* ---- the arena */

/* Room for subsequences of any length that jpeg_picture_cut gives them. */
static uint32_t subs_room(const struct jpeg_picture *picture) {
    uint32_t room = 0;
    for (uint32_t log2 = JPEG_SUB_LOG2_MIN; log2 <= JPEG_SUB_LOG2; log2++) {
        const uint32_t subs = jpeg_subs(picture->scan_bytes, log2);
        if ((log2 == JPEG_SUB_LOG2 || may_be_short(picture, log2)) && subs > room) room = subs;
    }
    return room;
}

/* The next BYTES of it, at NULL while it is only measured. */
static void *take(uint8_t *arena, size_t *used, size_t bytes) {
    const size_t at = *used;
    *used += (bytes + JPEG_ARENA_ALIGN - 1) / JPEG_ARENA_ALIGN * JPEG_ARENA_ALIGN;
    return arena ? arena + at : NULL;
}

static size_t place(struct jpeg_picture *p, uint8_t *arena) {
    const size_t subs = subs_room(p);
    size_t used = 0;
    p->facts = take(arena, &used, sizeof *p->facts);
    p->lookups = take(arena, &used, 4 * sizeof *p->lookups);
    p->piece_kept = take(arena, &used, p->pieces * sizeof *p->piece_kept);
    p->piece_restarts = take(arena, &used, p->pieces * sizeof *p->piece_restarts);
    p->bits = take(arena, &used, p->scan_bytes + (size_t)JPEG_BITS_PADDING);
    p->segment_ends = take(arena, &used, p->segments * sizeof *p->segment_ends);
    p->starts = take(arena, &used, subs * sizeof *p->starts);
    p->ends = take(arena, &used, subs * sizeof *p->ends);
    for (int i = 0; i < 2; i++) p->pending[i] = take(arena, &used, subs * sizeof **p->pending);
    p->pending_starts = take(arena, &used, subs * sizeof *p->pending_starts);
    p->tallies = take(arena, &used, subs * sizeof *p->tallies);
    p->candidates = take(arena, &used, subs * JPEG_GUESSES * sizeof *p->candidates);
    p->bases = take(arena, &used, (subs + 1) * sizeof *p->bases);
    p->heads = take(arena, &used, ((size_t)p->blocks + 1) * sizeof *p->heads);
    p->list = take(arena, &used, (size_t)p->list_max * sizeof *p->list);
    for (int c = 0; c < p->components; c++) {
        const size_t rows = p->mcus / p->mcus_across * (c ? 8u : 8u * p->down);
        p->planes[c] = take(arena, &used, rows * p->plane_stride[c]);
    }
    return used;
}

size_t jpeg_picture_bytes(const struct jpeg_picture *picture) {
    struct jpeg_picture measured = *picture;
    return place(&measured, NULL);
}

void jpeg_picture_place(struct jpeg_picture *picture, uint8_t *arena) {
    place(picture, arena);
}
