// SPDX-License-Identifier: Apache-2.0
/* How it works. The image is cut into strips of columns whose ring of sums fits into a core's
 * cache. Where there are fewer strips than threads, strips are cut into bands of rows. A strip is
 * processed downwards, two rows at a time: two lines are read with their borders and summed across
 * into the ring; then the window that ends there is summed down. */
#include "pipeline/smooth.h"

#include "pipeline/band.h"
#include "pipeline/reflect.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/rows/smooth.h"

#include <string.h>

/* The ring and some rows of both images share 32 KB or more of first-level cache. For pixels of
 * three samples the number of chunks is a multiple of three, so that a strip ends with a whole
 * pixel. */
enum { WORKERS_MAX = 16, RING_BYTES = 32 << 10, CHUNKS_MIN = 4, STRIP_BYTES = 512 };

/* The state that all strips share. */
struct smoothing {
    struct op_call *call;
    smooth_finish finish;
    struct smooth_taps taps;
    struct smooth_sizes sizes;
    size_t worker_bytes;
    size_t chunks; /* of a strip */
    uint32_t strip_pixels, strips, bands;
    uint32_t next; /* first tile not yet begun */
};

static size_t strip_chunks(const struct image *in, const struct smooth_taps *taps) {
    const size_t wanted = ((size_t)in->width * in->channels + SMOOTH_CHUNK - 1) / SMOOTH_CHUNK;
    const size_t most = STRIP_BYTES / SMOOTH_CHUNK / (in->depth / 8);
    size_t chunks = RING_BYTES / smooth_sizes_of(taps, 1).ring;
    if (chunks < CHUNKS_MIN) chunks = CHUNKS_MIN;
    if (chunks > most) chunks = most;
    if (chunks >= wanted) return wanted;
    return in->channels == 3 ? chunks / 3 * 3 : chunks;
}

static size_t worker_bytes(const struct smooth_sizes *sizes) {
    return (2 * sizes->line + sizes->work + sizes->ring + 2 * sizes->row + 255) / 256 * 256;
}

/* Eight pixels of reach cost as much as one pass of reading and writing. Rows beyond the borders
 * are summed too. */
uint32_t smooth_passes(const struct image *in, long sigma) {
    struct gaussian gaussian;
    gaussian_make(&gaussian, sigma, in->depth);
    return (1 + gaussian.reach / 8) * (in->height + 2 * gaussian.reach) / in->height;
}

size_t smooth_scratch(const struct image *in, const struct gaussian *gaussian) {
    struct smooth_taps taps;
    smooth_taps_make(&taps, gaussian, in->channels);
    const struct smooth_sizes sizes = smooth_sizes_of(&taps, strip_chunks(in, &taps));
    return WORKERS_MAX * worker_bytes(&sizes);
}

/* ---- a strip of a band */

struct strip {
    const struct smoothing *all;
    uint32_t left, pixels;
    struct band band;
    bool reads_image,
        writes_image; /* the strip works on the image in place, without copying lines or rows */
    uint8_t *line[2], *work, *ring, *row[2];
};

/* A line is a few bytes longer than its samples; these are read but have no effect. */
static void find_direct(struct strip *strip) {
    const struct smoothing *all = strip->all;
    const struct image *in = &all->call->in;
    const uint32_t reach = all->taps.gaussian.reach;
    const size_t pixel = image_pixel_bytes(in);
    if (image_has_alpha(in)) return;
    strip->reads_image = strip->left >= reach &&
                         (strip->left - reach) * pixel + all->sizes.line <= image_row_bytes(in);
    strip->writes_image = !all->finish && strip->pixels * pixel == all->sizes.row;
}

static struct strip strip_of(const struct smoothing *all, uint32_t tile, uint8_t *memory) {
    const struct image *in = &all->call->in;
    const struct smooth_sizes *sizes = &all->sizes;
    struct strip strip = { .all = all, .left = tile % all->strips * all->strip_pixels };
    strip.pixels = in->width - strip.left;
    if (strip.pixels > all->strip_pixels) strip.pixels = all->strip_pixels;
    strip.band = band_of(in->height, (int)(tile / all->strips), (int)all->bands);
    strip.ring = memory;
    strip.line[0] = strip.ring + sizes->ring, strip.line[1] = strip.line[0] + sizes->line;
    strip.work = strip.line[1] + sizes->line;
    strip.row[0] = strip.work + sizes->work, strip.row[1] = strip.row[0] + sizes->row;
    find_direct(&strip);
    return strip;
}

/* Copies as memcpy does, which takes twice as long for the few hundred bytes of a strip's row. */
static void copy(uint8_t *restrict to, const uint8_t *restrict from, size_t bytes) {
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64) memcpy(to + i, from + i, 64);
    memcpy(to + i, from + i, bytes - i);
}

/* Copies pixels FIRST..END-1 of row Y into LINE; those beyond the borders are reflected. */
static void copy_line(const struct image *in, uint32_t y, int32_t first, int32_t end,
                      uint8_t *line) {
    const size_t pixel = image_pixel_bytes(in);
    const uint8_t *row = image_row(in, y);
    const int32_t width = (int32_t)in->width, inner = first > 0 ? first : 0,
                  inner_end = end < width ? end : width;
    for (int32_t x = first; x < inner; x++, line += pixel)
        memcpy(line, row + reflect(x, in->width) * pixel, pixel);
    copy(line, row + (size_t)inner * pixel, (size_t)(inner_end - inner) * pixel);
    line += (size_t)(inner_end - inner) * pixel;
    for (int32_t x = inner_end; x < end; x++, line += pixel)
        memcpy(line, row + reflect(x, in->width) * pixel, pixel);
}

/* Returns row Y of the strip with `reach` pixels on either side, copied into LINE or in place. */
static const uint8_t *line_of(const struct strip *strip, uint32_t y, uint8_t *line) {
    const struct image *in = &strip->all->call->in;
    const int32_t reach = (int32_t)strip->all->taps.gaussian.reach,
                  first = (int32_t)strip->left - reach;
    const int32_t end = (int32_t)(strip->left + strip->pixels) + reach;
    if (strip->reads_image) return image_row(in, y) + (size_t)first * image_pixel_bytes(in);
    copy_line(in, y, first, end, line);
    if (image_has_alpha(in))
        alpha_multiply(line, line, (size_t)(end - first), in->channels, in->depth);
    return line;
}

/* Adds to the ring pair number PAIR of rows, counted from the top of the band's first window. */
static void add_pair(const struct strip *strip, uint32_t pair) {
    const struct smoothing *all = strip->all;
    const uint32_t height = all->call->in.height;
    const int32_t top = (int32_t)(strip->band.first + 2 * pair) - (int32_t)all->taps.gaussian.reach;
    const uint8_t *const lines[2] = { line_of(strip, reflect(top, height), strip->line[0]),
                                      line_of(strip, reflect(top + 1, height), strip->line[1]) };
    smooth_across(&all->taps, lines, strip->work, all->chunks, strip->ring,
                  pair % all->sizes.slots);
}

static uint8_t *out_of(const struct strip *strip, uint32_t y) {
    const struct image *out = &strip->all->call->out;
    return image_row(out, y) + strip->left * image_pixel_bytes(out);
}

static void finish_row(const struct strip *strip, uint32_t y, uint8_t *blurred) {
    const struct op_call *call = strip->all->call;
    const struct image *in = &call->in;
    const size_t samples = (size_t)strip->pixels * in->channels;
    uint8_t *out = out_of(strip, y);
    if (blurred == out) return;
    if (image_has_alpha(in)) alpha_divide(blurred, blurred, strip->pixels, in->channels, in->depth);
    if (strip->all->finish)
        strip->all->finish(call, image_row(in, y) + strip->left * image_pixel_bytes(in), blurred,
                           out, samples);
    else
        copy(out, blurred, samples * (in->depth / 8));
}

/* Makes rows FIRST and FIRST + 1; the second may lie below the band. */
static void add_results(const struct strip *strip, uint32_t first, size_t slot) {
    const struct smoothing *all = strip->all;
    const bool both = first + 1 < strip->band.end, direct = strip->writes_image;
    uint8_t *const rows[2] = { direct ? out_of(strip, first) : strip->row[0],
                               direct && both ? out_of(strip, first + 1) : strip->row[1] };
    smooth_down(&all->taps, strip->ring, slot, all->chunks, rows);
    finish_row(strip, first, rows[0]);
    if (both) finish_row(strip, first + 1, rows[1]);
}

static void run_strip(const struct strip *strip) {
    const struct smoothing *all = strip->all;
    const uint32_t reach = all->taps.gaussian.reach, rows = strip->band.end - strip->band.first;
    for (uint32_t pair = 0; pair < reach; pair++) add_pair(strip, pair);
    for (uint32_t y = 0; y < rows && !progress_check(all->call->progress); y += 2) {
        add_pair(strip, y / 2 + reach);
        add_results(strip, strip->band.first + y, y / 2 % all->sizes.slots);
    }
}

/* ---- all strips */

static void run_worker(void *argument, int index) {
    struct smoothing *all = argument;
    uint8_t *memory = (uint8_t *)all->call->scratch + (size_t)index * all->worker_bytes;
    const uint32_t tiles = all->strips * all->bands;
    for (uint32_t tile; (tile = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < tiles;) {
        const struct strip strip = strip_of(all, tile, memory);
        run_strip(&strip);
    }
}

/* A band also reads `reach` rows above and below its own, so each has at least as many of its own.
 */
static uint32_t bands_of(const struct smoothing *all, int workers) {
    const uint32_t height = all->call->in.height, least = 2 * all->taps.gaussian.reach + 32;
    const uint32_t wanted =
        workers > 1 ? (2 * (uint32_t)workers + all->strips - 1) / all->strips : 1;
    const uint32_t most = height / least ? height / least : 1;
    return wanted < most ? wanted : most;
}

enum status smooth_run(struct op_call *call, const struct gaussian *gaussian,
                       smooth_finish finish) {
    struct smoothing all = { .call = call, .finish = finish };
    const struct image *in = &call->in;
    const int threads = pool_threads(call->pool),
              workers = threads < WORKERS_MAX ? threads : WORKERS_MAX;
    smooth_taps_make(&all.taps, gaussian, in->channels);
    all.chunks = strip_chunks(in, &all.taps);
    all.sizes = smooth_sizes_of(&all.taps, all.chunks);
    all.worker_bytes = worker_bytes(&all.sizes);
    all.strip_pixels = (uint32_t)(all.chunks * SMOOTH_CHUNK / in->channels);
    all.strips = (in->width + all.strip_pixels - 1) / all.strip_pixels;
    all.bands = bands_of(&all, workers);
    pool_run(call->pool, run_worker, &all, workers);
    return progress_check(call->progress);
}
