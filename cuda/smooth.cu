// SPDX-License-Identifier: Apache-2.0
/* How it works. Small windows over 8 bits are one launch for the whole batch, on tensor cores
 * (smooth/strip.cuh), with weights that the device keeps from batch to batch. All others are two
 * passes (smooth/passes.cuh) over areas of the images: as many areas at a time as scratch has room
 * for, so that scratch is bounded for images of any size. */
#include "cuda/smooth.cuh"

#include "cuda/batch.cuh"
#include "cuda/device_tables.cuh"
#include "cuda/smooth/passes.cuh"
#include "cuda/smooth/strip.cuh"

/* ---- strips */

static uint32_t weight_at_distance(const struct gaussian *gaussian, int distance) {
    const uint32_t size = (uint32_t)(distance < 0 ? -distance : distance);
    return size <= gaussian->reach ? gaussian->weight[size] : 0;
}

/* Sets WEIGHTS, zeroed before, for rows of the first product: of each byte that a lane reads, by
 * its distance from the result's. */
template <class T>
static void put_across(struct strip_weights<T> *weights, const struct gaussian *gaussian,
                       int lane) {
    const int g = lane / 4, t = lane % 4;
    for (int q = 0; q < FOUR; q++)
        for (int i = 0; i < T::WORDS; i++)
            for (int k = 0; k < 4; k++) {
                const int behind = 4 * (strip_word<T>(i, t) - g) + k - q - T::HALO;
                if (behind % T::CHANNELS) continue;
                uint8_t *const bytes = (uint8_t *)&weights->across[q / 2][i / 2][lane];
                bytes[i % 2 * 8 + q % 2 * 4 + k] =
                    (uint8_t)weight_at_distance(gaussian, behind / T::CHANNELS);
            }
}

/* Sets the weights of the first two slabs' rows in the order of plane_bytes(), then of the next
 * two's. After them come those of a third slab for high bytes, if there is no fourth slab to share
 * a word with. */
template <class T>
static void put_down(struct strip_weights<T> *weights, const struct gaussian *gaussian, int lane) {
    const int g = lane / 4, t = lane % 4;
    uint32_t *const down = (uint32_t *)&weights->down[lane];
    for (int k = 0; k < 2 * T::SLOTS; k++) {
        const int row = STRIP_ROWS * (k / 2) + 2 * t + k % 2;
        ((uint8_t *)down)[k] = (uint8_t)weight_at_distance(gaussian, row - g - T::REACH);
    }
    down[2] = down[1] << 16;
}

/* floor(255 c / alpha) = c * factor >> 24 for c <= alpha, as the error of 2^24 / alpha, at most 1,
 * times 255 * 254 is less than 2^24 / alpha. Sums of colours are never above those of alpha. */
static uint32_t alpha_factor(uint32_t alpha) {
    return alpha == 0 || alpha == 255 ? 1 << 24 : 255 * ((1 << 24) / alpha + 1);
}

template <class T>
static uint32_t make_strip_weights(const struct device_table_key *key, void *memory) {
    struct strip_weights<T> *const weights = (struct strip_weights<T> *)memory;
    struct gaussian gaussian;
    gaussian_make(&gaussian, (long)key->numbers[0], 8);
    memset(memory, 0, sizeof *weights);
    for (int lane = 0; lane < 32; lane++) {
        put_across<T>(weights, &gaussian, lane);
        put_down<T>(weights, &gaussian, lane);
    }
    for (uint32_t alpha = 0; T::ALPHA && alpha < 256; alpha++)
        weights->factors[alpha] = alpha_factor(alpha);
    return 1;
}

/* The last number of a device_table_key: a table of this file. */
enum { STRIP_KEY = 0x73747270 };

/* If the batch's other tables leave no room, waits until their kernels are done. */
template <class T>
static enum status get_strip_weights(const struct cuda_context *context, long sigma,
                                     const struct strip_weights<T> **weights,
                                     struct failure *failure) {
    const struct device_table_key key = { { (uint32_t)sigma, T::CHANNELS, 0, 0, 0, STRIP_KEY } };
    struct device_table table;
    for (int turn = 0; turn < 2; turn++) {
        const enum status status =
            device_tables_get(context->tables, context->stream, &key, sizeof **weights,
                              make_strip_weights<T>, &table, failure);
        if (status) return status;
        if (table.memory) break;
        CUDA_TRY(failure, cudaStreamSynchronize(context->stream));
        device_tables_next_batch(context->tables);
    }
    *weights = (const struct strip_weights<T> *)table.memory;
    return STATUS_OK;
}

template <class T, int CAPACITY>
static enum status launch_strips(const struct cuda_context *context,
                                 const struct batch_of<CAPACITY> &batch, dim3 grid, long sigma,
                                 const struct finish_rule &rule, struct failure *failure) {
    static_assert(sizeof batch + sizeof(void *) + sizeof(rule) <= 4096,
                  "an older GPU's kernel gets no more");
    const struct strip_weights<T> *weights = NULL;
    const enum status status = get_strip_weights<T>(context, sigma, &weights, failure);
    if (status) return status;
    strip_kernel<T, CAPACITY><<<grid, STRIP_THREADS, 0, context->stream>>>(batch, weights, rule);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* Steps of a tile. An image with few tiles gets lower ones, so that all multiprocessors have
 * some. */
enum { STRIP_STEPS = 8, STRIP_FEW_STEPS = 4 };

/* Whether tiles of STRIP_STEPS would leave multiprocessors with less than two. */
static bool strips_are_few(const struct cuda_context *context, const struct op_call &samples) {
    const uint32_t height = STRIP_STEPS * STRIP_ROWS;
    const uint64_t tiles = (uint64_t)((samples.in.width + STRIP_TILE - 1) / STRIP_TILE) *
                           ((samples.in.height + height - 1) / height);
    return tiles < 2 * (uint64_t)context->multiprocessors;
}

/* A kernel for one image takes fewer parameters, which is a shorter launch, and need not search. */
template <class T>
static enum status run_strips_alone(const struct cuda_context *context,
                                    const struct op_call &samples, long sigma,
                                    const struct finish_rule &rule) {
    struct batch batch;
    const enum status status = batch_init_tiles(&batch, &samples, 1, STRIP_TILE, T::HEIGHT);
    if (status) return status;
    struct batch_of<1> alone = {};
    alone.count = 1, alone.chunks = batch.chunks, alone.images[0] = batch.images[0];
    const uint32_t across = alone.images[0].row_chunks;
    return launch_strips<T>(context, alone, dim3(across, batch.chunks / across), sigma, rule,
                            samples.failure);
}

template <int CHANNELS, int SLOTS, bool SHARPENS>
static enum status run_strips_as(const struct cuda_context *context, const struct op_call *calls,
                                 int count, long sigma, const struct finish_rule &rule) {
    [[maybe_unused]] typedef strip_traits<CHANNELS, SLOTS, STRIP_FEW_STEPS, SHARPENS> low;
    typedef strip_traits<CHANNELS, SLOTS, STRIP_STEPS, SHARPENS> high;
    struct op_call samples[CUDA_BATCH_MAX];
    batch_sample_calls(samples, calls, count);
    if constexpr (CHANNELS != 2 &&
                  !SHARPENS) /* frequent kinds only: a kernel takes long to compile */
        if (count == 1)
            return strips_are_few(context, samples[0])
                       ? run_strips_alone<low>(context, samples[0], sigma, rule)
                       : run_strips_alone<high>(context, samples[0], sigma, rule);
    struct batch batch;
    const enum status status = batch_init_tiles(&batch, samples, count, STRIP_TILE, high::HEIGHT);
    if (status) return status;
    return launch_strips<high, CUDA_BATCH_MAX>(context, batch, batch.chunks, sigma, rule,
                                               calls[0].failure);
}

template <int CHANNELS, int SLOTS>
static enum status run_strips_as(const struct cuda_context *context, const struct op_call *calls,
                                 int count, long sigma, const struct finish_rule &rule) {
    return rule.sharpens
               ? run_strips_as<CHANNELS, SLOTS, true>(context, calls, count, sigma, rule)
               : run_strips_as<CHANNELS, SLOTS, false>(context, calls, count, sigma, rule);
}

template <int CHANNELS>
static enum status run_strips(const struct cuda_context *context, const struct op_call *calls,
                              int count, long sigma, uint32_t reach,
                              const struct finish_rule &rule) {
    switch ((reach + 3) / 4) {
    case 1: return run_strips_as<CHANNELS, 2>(context, calls, count, sigma, rule);
    case 2: return run_strips_as<CHANNELS, 3>(context, calls, count, sigma, rule);
    default: return run_strips_as<CHANNELS, 4>(context, calls, count, sigma, rule);
    }
}

/* ---- areas */

/* Bytes of an area's and a launch's sums; an area's width in pixels. Rows of the widest area are 32
 * KB of sums. */
enum { AREA_BYTES = 32 << 20, LAUNCH_BYTES = 96 << 20, AREA_PIXELS = 2048 };

/* Goes through the areas of all calls, one launch's at a time. */
struct area_walk {
    const struct op_call *calls;
    int count, call;
    uint32_t x, y; /* of the call's next area */
    uint32_t reach;
};

static uint32_t thread_rows(unsigned depth) {
    return depth == 8 ? pass_traits<1, 8>::ROWS : pass_traits<1, 16>::ROWS;
}

static uint32_t divide_up(uint32_t n, uint32_t by) {
    return (n + by - 1) / by;
}

static uint32_t at_most(uint32_t n, uint32_t most) {
    return n < most ? n : most;
}

static size_t area_row_bytes(const struct image *in, const struct pass_area &area) {
    return (size_t)area.groups * FOUR * in->channels * (in->depth / 8 * 2);
}

static struct pass_area area_at(const struct area_walk *walk) {
    const struct op_call *call = &walk->calls[walk->call];
    const struct image *in = &call->in;
    const uint32_t step = thread_rows(in->depth);
    struct pass_area area = {};
    area.in = in->pixels, area.out = call->out.pixels;
    area.in_stride = (uint32_t)in->stride, area.out_stride = (uint32_t)call->out.stride;
    area.width = in->width, area.height = in->height;
    area.x = walk->x, area.y = walk->y;
    area.pixels = at_most(in->width - walk->x, AREA_PIXELS);
    area.groups = divide_up(area.pixels, FOUR);
    const uint32_t most =
        ((uint32_t)(AREA_BYTES / area_row_bytes(in, area)) - 2 * walk->reach) / step * step;
    area.rows = at_most(in->height - walk->y, most);
    area.sum_rows = divide_up(area.rows, step) * step + 2 * walk->reach;
    return area;
}

static void advance(struct area_walk *walk, const struct pass_area &area) {
    walk->y += area.rows;
    if (walk->y < area.height) return;
    walk->y = 0, walk->x += area.pixels;
    if (walk->x < area.width) return;
    walk->x = 0, walk->call++;
}

/* The next launch's areas, with their sums from MEMORY on. Returns their number; BYTES: of sums. */
static int next_areas(struct area_walk *walk, struct pass_areas *areas, uint8_t *memory,
                      size_t *bytes) {
    int count = 0;
    *bytes = 0;
    while (count < PASS_AREAS_MAX && walk->call < walk->count) {
        const struct image *in = &walk->calls[walk->call].in;
        struct pass_area area = area_at(walk);
        const size_t more = (area.sum_rows * area_row_bytes(in, area) + 255) / 256 * 256;
        if (count && *bytes + more > LAUNCH_BYTES) break;
        area.sums = memory + *bytes;
        *bytes += more;
        areas->area[count++] = area;
        advance(walk, area);
    }
    return count;
}

template <class T>
static enum status run_areas(const struct cuda_context *context, const struct op_call *calls,
                             const struct pass_areas &areas, int count,
                             const struct gaussian &gaussian, const struct finish_rule &rule) {
    uint32_t across = 0, down = 0; /* threads of the largest area */
    static_assert(sizeof areas + sizeof gaussian + sizeof rule <= 4096,
                  "an older GPU's kernel gets no more");
    for (int i = 0; i < count; i++) {
        const struct pass_area &area = areas.area[i];
        const uint32_t sums = area.sum_rows * area.groups * T::CHANNELS,
                       results = divide_up(area.rows, T::ROWS) * area.groups;
        across = sums > across ? sums : across;
        down = results > down ? results : down;
    }
    pass_across_kernel<T>
        <<<dim3(divide_up(across, PASS_THREADS), count), PASS_THREADS, 0, context->stream>>>(
            areas, gaussian);
    CUDA_LAUNCHED(calls[0].failure);
    pass_down_kernel<T>
        <<<dim3(divide_up(down, PASS_THREADS), count), PASS_THREADS, 0, context->stream>>>(
            areas, gaussian, rule);
    CUDA_LAUNCHED(calls[0].failure);
    return STATUS_OK;
}

template <class T>
static enum status run_passes(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct gaussian *gaussian,
                              const struct finish_rule &rule) {
    struct area_walk walk = { calls, count, 0, 0, 0, gaussian->reach };
    while (walk.call < count) {
        struct pass_areas areas = {};
        size_t bytes;
        const int found = next_areas(&walk, &areas, (uint8_t *)calls[0].scratch, &bytes);
        const enum status status = run_areas<T>(context, calls, areas, found, *gaussian, rule);
        if (status) return status;
    }
    return STATUS_OK;
}

/* ---- the choice between both */

static bool fits_strips(const struct image *in, const struct gaussian *gaussian) {
    return in->depth == 8 && gaussian->reach <= STRIP_REACH_MAX;
}

template <int CHANNELS>
static enum status run_channels(const struct cuda_context *context, const struct op_call *calls,
                                int count, long sigma, const struct gaussian *gaussian,
                                const struct finish_rule &rule) {
    if (fits_strips(&calls[0].in, gaussian))
        return run_strips<CHANNELS>(context, calls, count, sigma, gaussian->reach, rule);
    if (calls[0].in.depth == 8)
        return run_passes<pass_traits<CHANNELS, 8>>(context, calls, count, gaussian, rule);
    return run_passes<pass_traits<CHANNELS, 16>>(context, calls, count, gaussian, rule);
}

size_t smooth_scratch_cuda(const struct op_call *calls, int count, long sigma) {
    struct gaussian gaussian;
    gaussian_make(&gaussian, sigma, calls[0].in.depth);
    if (fits_strips(&calls[0].in, &gaussian)) return 0;
    struct area_walk walk = { calls, count, 0, 0, 0, gaussian.reach };
    size_t most = 0;
    while (walk.call < count) {
        struct pass_areas areas;
        size_t bytes;
        next_areas(&walk, &areas, NULL, &bytes);
        most = bytes > most ? bytes : most;
    }
    return most;
}

enum status smooth_run_cuda(const struct cuda_context *context, struct op_call *calls, int count,
                            long sigma, const struct sharpen_rule *sharpen, const char *name) {
    struct gaussian gaussian;
    struct finish_rule rule = {};
    gaussian_make(&gaussian, sigma, calls[0].in.depth);
    rule.sharpens = sharpen != NULL;
    if (sharpen) rule.sharpen = *sharpen;
    enum status status;
    switch (calls[0].in.channels) {
    case 1: status = run_channels<1>(context, calls, count, sigma, &gaussian, rule); break;
    case 2: status = run_channels<2>(context, calls, count, sigma, &gaussian, rule); break;
    case 3: status = run_channels<3>(context, calls, count, sigma, &gaussian, rule); break;
    default: status = run_channels<4>(context, calls, count, sigma, &gaussian, rule); break;
    }
    if (!status) cuda_record_kernel(context, name);
    return status;
}
