// SPDX-License-Identifier: Apache-2.0
/* How it works. All rows of a map lie in one arena: luma with its border repeated, energies only
 * where they are stored (masks, Sobel, or no AVX2), two bits a pixel of parents, and two rows of
 * costs for each half. Luma of a turned map is made tile by tile, so that reads and writes both
 * stay in the cache. Energies have a plain definition and an AVX2 twin with the same values: the
 * gradient takes absolute differences by saturating subtraction, 32 pixels at a time, and the
 * diagonal by the high half of a product; Sobel works down the columns first, and the root's floor
 * is corrected by one step, since as a float it is off by less than 1. */
#include "pipeline/ops/carve/energy_map.h"

#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/carve/luma_row.h"
#include "pipeline/ops/carve/tiles.h"
#include "pipeline/rows/intrinsics.h"

#include <math.h>

enum { TILE = 32 };

/* ---- energies of a run of pixels: plain C, which defines them */

static void gradient_plain(const uint8_t *restrict here, const uint8_t *restrict below,
                           uint32_t count, uint16_t *restrict out) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint16_t)carve_gradient(here[i], here[i + 1], below[i], below[i + 1]);
}

static const int32_t along[2][5] = { { 0, -1, 0, 1, 0 }, { -1, -2, 0, 2, 1 } };
static const int32_t smooth[2][5] = { { 0, 1, 2, 1, 0 }, { 1, 4, 6, 4, 1 } };

static void sobel_plain(int five, const uint8_t *const rows[5], uint32_t count, uint16_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        int32_t gx = 0, gy = 0;
        for (int y = 1 - five; y < 4 + five; y++)
            for (int x = 1 - five; x < 4 + five; x++) {
                const int32_t luma = *(rows[y] + i + x - 2);
                gx += smooth[five][y] * along[five][x] * luma;
                gy += along[five][y] * smooth[five][x] * luma;
            }
        /* Exact: the double root of an integer below 2^53 is never rounded up to the next one. */
        out[i] = (uint16_t)sqrt((double)(gx * gx + gy * gy));
    }
}

static void forward_plain(const uint8_t *restrict here, uint32_t count, uint16_t *restrict out) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint16_t)carve_apart(*(here + i - 1), here[i + 1]);
}

static void run_plain(int energy, const uint8_t *const rows[5], uint32_t count, uint16_t *out) {
    if (energy == CARVE_GRADIENT)
        gradient_plain(rows[2], rows[3], count, out);
    else if (energy == CARVE_FORWARD)
        forward_plain(rows[2], count, out);
    else
        sobel_plain(energy == CARVE_SOBEL5, rows, count, out);
}

#ifdef __x86_64__
/* ---- gradient, 32 pixels at a time */

AVX2 static inline __m256i load(const uint8_t *bytes) {
    return _mm256_loadu_si256((const __m256i *)bytes);
}

AVX2 static inline __m256i apart(__m256i a, __m256i b) {
    return _mm256_or_si256(_mm256_subs_epu8(a, b), _mm256_subs_epu8(b, a));
}

/* Adds right and lower difference, which lie side by side, by a multiplication with ones. */
AVX2 static inline __m256i weigh(__m256i pairs, __m256i diagonal) {
    return _mm256_add_epi16(_mm256_maddubs_epi16(pairs, _mm256_set1_epi8(1)),
                            _mm256_mulhi_epu16(diagonal, _mm256_set1_epi16((short)46341)));
}

AVX2 static void gradient_avx2(const uint8_t *here, const uint8_t *below, uint32_t count,
                               uint16_t *out) {
    const __m256i zero = _mm256_setzero_si256();
    for (uint32_t i = 0; i < count; i += 32) {
        const __m256i centre = load(here + i);
        const __m256i right = apart(centre, load(here + i + 1));
        const __m256i down = apart(centre, load(below + i));
        const __m256i across = apart(centre, load(below + i + 1));
        const __m256i low =
            weigh(_mm256_unpacklo_epi8(right, down), _mm256_unpacklo_epi8(across, zero));
        const __m256i high =
            weigh(_mm256_unpackhi_epi8(right, down), _mm256_unpackhi_epi8(across, zero));
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256((__m256i *)(out + i + 16), _mm256_permute2x128_si256(low, high, 0x31));
    }
}

/* ---- sobel, 16 pixels at a time */

/* floor(sqrt(x^2 + y^2)) of four pairs in each half. The squares' sum is below 2^28, so as a float
 * it is off by at most 8 and its root by less than 1: a step of one either way corrects it. */
AVX2 static inline __m256i roots(__m256i pairs) {
    const __m256i squares = _mm256_madd_epi16(pairs, pairs);
    const __m256i near = _mm256_cvttps_epi32(_mm256_sqrt_ps(_mm256_cvtepi32_ps(squares)));
    const __m256i rest = _mm256_sub_epi32(squares, _mm256_madd_epi16(near, near));
    const __m256i less = _mm256_cmpgt_epi32(_mm256_setzero_si256(), rest);
    const __m256i more = _mm256_cmpgt_epi32(rest, _mm256_slli_epi32(near, 1));
    return _mm256_sub_epi32(_mm256_add_epi32(near, less), more);
}

AVX2 static inline void put_lengths(__m256i gx, __m256i gy, uint16_t *out) {
    const __m256i low = roots(_mm256_unpacklo_epi16(gx, gy));
    const __m256i high = roots(_mm256_unpackhi_epi16(gx, gy));
    _mm256_storeu_si256((__m256i *)out, _mm256_packus_epi32(low, high));
}

AVX2 static inline __m256i widen(const uint8_t *bytes) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)bytes));
}

AVX2 static inline __m256i twice(__m256i a) {
    return _mm256_add_epi16(a, a);
}

/* a + 2 b + c */
AVX2 static inline __m256i smooth3(__m256i a, __m256i b, __m256i c) {
    return _mm256_add_epi16(_mm256_add_epi16(a, c), twice(b));
}

AVX2 static void sobel3_avx2(const uint8_t *const rows[5], uint32_t count, uint16_t *out) {
    for (uint32_t i = 0; i < count; i += 16) {
        __m256i smoothed[3], slope[3];
        for (int c = 0; c < 3; c++) {
            const uint32_t x = i + (uint32_t)c;
            const __m256i above = widen(rows[1] + x - 1), below = widen(rows[3] + x - 1);
            smoothed[c] = smooth3(above, widen(rows[2] + x - 1), below);
            slope[c] = _mm256_sub_epi16(below, above);
        }
        put_lengths(_mm256_sub_epi16(smoothed[2], smoothed[0]),
                    smooth3(slope[0], slope[1], slope[2]), out + i);
    }
}

/* a + 4 b + 6 c + 4 d + e */
AVX2 static inline __m256i smooth5(const __m256i v[5]) {
    const __m256i inner = twice(_mm256_add_epi16(_mm256_add_epi16(v[1], v[3]), v[2]));
    return _mm256_add_epi16(_mm256_add_epi16(v[0], v[4]),
                            _mm256_add_epi16(twice(inner), twice(v[2])));
}

/* e + 2 d - 2 b - a */
AVX2 static inline __m256i along5(const __m256i v[5]) {
    return _mm256_add_epi16(_mm256_sub_epi16(v[4], v[0]), twice(_mm256_sub_epi16(v[3], v[1])));
}

AVX2 static void sobel5_avx2(const uint8_t *const rows[5], uint32_t count, uint16_t *out) {
    for (uint32_t i = 0; i < count; i += 16) {
        __m256i smoothed[5], slope[5];
        for (int c = 0; c < 5; c++) {
            __m256i v[5];
            for (int y = 0; y < 5; y++) v[y] = widen(rows[y] + i + (uint32_t)c - 2);
            smoothed[c] = smooth5(v);
            slope[c] = along5(v);
        }
        put_lengths(along5(smoothed), smooth5(slope), out + i);
    }
}

/* Writes to OUT the energies, of kind ENERGY, of COUNT pixels from ROWS[2][0] on. ROWS are the rows
 * from two above to two below; outside the image the border's row takes their place. */
static void energy_run(int energy, const uint8_t *const rows[5], uint32_t count, uint16_t *out) {
    if (!simd_has_avx2() || energy == CARVE_FORWARD)
        run_plain(energy, rows, count, out);
    else if (energy == CARVE_GRADIENT)
        gradient_avx2(rows[2], rows[3], count, out);
    else
        (energy == CARVE_SOBEL3 ? sobel3_avx2 : sobel5_avx2)(rows, count, out);
}
#else
static void energy_run(int energy, const uint8_t *const rows[5], uint32_t count, uint16_t *out) {
    run_plain(energy, rows, count, out);
}
#endif

/* ---- memory */

static size_t rounded(size_t count, size_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

/* Takes a row of WIDTH elements with a margin before and slack after it. */
static void *take_line(struct arena *arena, uint32_t width, size_t element) {
    uint8_t *line = arena_take(arena, (DP_MARGIN + (size_t)width + DP_SLACK) * element);
    return line ? line + DP_MARGIN * element : NULL;
}

/* Whether energies are stored in a map, not made row by row. */
static bool is_stored(const struct energy_map *map) {
    return map->masked ||
           (!map->weighed && (map->energy_kind != CARVE_GRADIENT || !simd_has_avx2()));
}

/* From this width on a row of luma begins with a line of the cache, and so does one of parents:
 * tiles (tiles.h) share none. Smaller maps may not take the memory for that. */
enum { LINES_FROM = 1024 };

/* Elements before column 0. */
static size_t luma_margin(uint32_t width) {
    return width < LINES_FROM ? 32 : 64;
}

/* Returns the distance of rows. Rows of narrow maps share their margins, which would otherwise be
 * most of the memory. */
static size_t stride_of(uint32_t width) {
    if (width < ENERGY_MAP_NARROW) return width + (size_t)2 * ENERGY_MARGIN;
    return rounded(luma_margin(width) + width + ENERGY_MARGIN, luma_margin(width));
}

static size_t cells_of(const struct energy_map *map, uint32_t height) {
    return map->stride * height + ENERGY_SLACK;
}

void energy_map_lay(struct energy_map *map, struct arena *arena, uint32_t width, uint32_t height,
                    bool with_ids) {
    const enum cost_bits widest = map->masked && !map->soft ? COST_64 : COST_32;
    map->stride = stride_of(width);
    map->words = width < LINES_FROM ? (width + 31) / 32 : (width + 255) / 256 * 8;
    const size_t cells = cells_of(map, height);
    uint8_t *luma = arena_take(arena, luma_margin(width) + cells);
    map->luma = luma ? luma + luma_margin(width) : NULL;
    map->ids = with_ids ? arena_take(arena, cells * sizeof *map->ids) : NULL;
    map->parents = arena_take(arena, map->words * height * sizeof *map->parents);
    for (int half = 0; half < HALVES; half++) {
        for (int row = 0; row < 2; row++)
            map->costs[half][row] = take_line(arena, width, cost_bytes(widest));
        map->line[half] = is_stored(map) && !map->weighed
                              ? NULL
                              : take_line(arena, width, sizeof *map->line[half]);
    }
    map->tiles = NULL;
    if (!map->weighed) tiles_lay(map, arena, width, height);
}

void energy_map_lay_energy(struct energy_map *map, struct arena *arena, uint32_t height) {
    if (is_stored(map))
        map->energy = arena_take(arena, cells_of(map, height) * sizeof *map->energy);
}

void energy_map_begin(struct energy_map *map, uint32_t width, uint32_t height) {
    map->width = width;
    map->height = height;
    map->open = false;
    map->bits = map->masked && !map->soft ? COST_64 : map->weighed ? COST_32 : COST_16;
}

/* ---- luma */

/* Makes image columns FIRST to END - 1, at most TILE, rows of luma. */
static void turn_luma(const struct energy_map *map, const struct image *image, uint32_t first,
                      uint32_t end) {
    uint8_t tile[TILE][TILE];
    for (uint32_t top = 0; top < image->height; top += TILE) {
        const uint32_t rows = image->height - top < TILE ? image->height - top : TILE;
        for (uint32_t y = 0; y < rows; y++)
            carve_luma_row(image, top + y, first, end - first, &map->under, tile[y]);
        for (uint32_t x = first; x < end; x++)
            for (uint32_t y = 0; y < rows; y++)
                energy_map_luma(map, x)[top + y] = tile[y][x - first];
    }
}

void energy_map_luma_band(const struct energy_map *map, const struct image *image, uint32_t first,
                          uint32_t end) {
    for (uint32_t x = first; map->turned && x < end; x += TILE)
        turn_luma(map, image, x, end - x < TILE ? end : x + TILE);
    for (uint32_t y = first; y < end; y++) {
        if (!map->turned)
            carve_luma_row(image, y, 0, image->width, &map->under, energy_map_luma(map, y));
        energy_map_pad_left(energy_map_luma(map, y));
        energy_map_pad_right(energy_map_luma(map, y), map->width);
    }
}

/* ---- energies */

static void rows_around(const struct energy_map *map, uint32_t y, uint32_t x,
                        const uint8_t *rows[5]) {
    for (uint32_t i = 0; i < 5; i++) {
        const uint32_t above = y + i < 2 ? 0 : y + i - 2;
        const uint32_t row = above < map->height ? above : map->height - 1;
        rows[i] = energy_map_luma(map, row) + x;
    }
}

void energy_map_run(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t count,
                    uint16_t *energies) {
    const uint8_t *rows[5];
    rows_around(map, y, first, rows);
    energy_run(map->energy_kind, rows, count, energies);
}

void energy_map_compute(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t count,
                        uint16_t energies[ENERGY_MAP_RUN + ENERGY_SLACK]) {
    energy_map_run(map, y, first, count, energies);
}

void energy_map_update(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t end) {
    uint16_t fresh[ENERGY_MAP_RUN + ENERGY_SLACK];
    uint16_t *row = energy_map_energy(map, y);
    for (uint32_t x = first; !map->weighed && x < end; x += ENERGY_MAP_RUN) {
        const uint32_t count = end - x < ENERGY_MAP_RUN ? end - x : ENERGY_MAP_RUN;
        energy_map_compute(map, y, x, count, fresh);
        for (uint32_t i = 0; i < count; i++)
            row[x + i] = (uint16_t)((row[x + i] & ~(unsigned)ENERGY_BITS) | fresh[i]);
    }
}

const uint16_t *energy_map_energy_row(const struct energy_map *map, uint32_t y, int half) {
    uint16_t *line = map->line[half];
    const uint16_t *stored = map->energy ? energy_map_energy(map, y) : NULL;
    if (stored && !map->weighed) return stored;
    energy_map_run(map, y, 0, map->width, line);
    for (uint32_t x = 0; stored && x < map->width; x++) line[x] = (uint16_t)(line[x] + stored[x]);
    return line;
}
