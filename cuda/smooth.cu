// SPDX-License-Identifier: Apache-2.0
/* How it works. Small windows over 8 bits are one launch for the whole batch, on tensor cores
 * (smooth/strip.cuh). All others are two passes (smooth/passes.cuh) over areas of the images: as
 * many areas at a time as scratch has room for, so that the largest image needs no more of it than
 * some. */
#include "cuda/smooth.cuh"

#include "cuda/batch.cuh"
#include "cuda/smooth/passes.cuh"
#include "cuda/smooth/strip.cuh"

/* ---- strips */

static uint32_t weight_at_distance(const struct gaussian *gaussian, int distance) {
    const uint32_t size = (uint32_t)(distance < 0 ? -distance : distance);
    return size <= gaussian->reach ? gaussian->weight[size] : 0;
}

static struct strip_weights strip_weights_of(const struct gaussian *gaussian, int channels,
                                             int halo) {
    const int reach = (int)gaussian->reach;
    struct strip_weights weights = {};
    weights.reach = gaussian->reach;
    for (int byte = 0; byte < 4 * STRIP_ACROSS; byte++) {
        const int behind = byte - 32 - halo;
        if (behind % channels) continue;
        weights.across[byte / 4] |= weight_at_distance(gaussian, behind / channels)
                                    << 8 * (byte % 4);
    }
    for (int k = 0; k < STRIP_DOWN; k++)
        weights.down[k] = weight_at_distance(gaussian, k - 7 - reach) |
                          weight_at_distance(gaussian, k - 6 - reach) << 16;
    return weights;
}

template <class T, int CAPACITY>
static enum status launch_strips(const struct cuda_context *context,
                                 const struct batch_of<CAPACITY> &batch,
                                 const struct gaussian *gaussian, const struct finish_rule &rule,
                                 struct failure *failure) {
    static_assert(sizeof batch + sizeof(struct strip_weights) + sizeof(rule) <= 4096,
                  "an older GPU's kernel gets no more");
    const struct strip_weights weights = strip_weights_of(gaussian, T::CHANNELS, T::HALO);
    strip_kernel<T, CAPACITY>
        <<<batch.chunks, STRIP_THREADS, 0, context->stream>>>(batch, weights, rule);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* Of a tile. An image of few gets lower ones, so that all multiprocessors have some. */
enum { STRIP_STEPS = 8, STRIP_FEW_STEPS = 4 };

/* Tiles of STRIP_STEPS would leave multiprocessors with less than two. */
static bool strips_are_few(const struct cuda_context *context, const struct op_call &samples) {
    const uint32_t height = STRIP_STEPS * STRIP_ROWS;
    const uint64_t tiles = (uint64_t)((samples.in.width + STRIP_TILE - 1) / STRIP_TILE) *
                           ((samples.in.height + height - 1) / height);
    return tiles < 2 * (uint64_t)context->multiprocessors;
}

/* An image alone is shorter to launch, and its kernel need not search. */
template <class T>
static enum status run_strips_alone(const struct cuda_context *context,
                                    const struct op_call &samples, const struct gaussian *gaussian,
                                    const struct finish_rule &rule) {
    struct batch batch;
    const enum status status = batch_init_tiles(&batch, &samples, 1, STRIP_TILE, T::HEIGHT);
    if (status) return status;
    struct batch_of<1> alone = {};
    alone.count = 1, alone.chunks = batch.chunks, alone.images[0] = batch.images[0];
    return launch_strips<T>(context, alone, gaussian, rule, samples.failure);
}

template <int CHANNELS, int SLOTS, bool SHARPENS>
static enum status run_strips_as(const struct cuda_context *context, const struct op_call *calls,
                                 int count, const struct gaussian *gaussian,
                                 const struct finish_rule &rule) {
    typedef strip_traits<CHANNELS, SLOTS, STRIP_FEW_STEPS, SHARPENS> low;
    typedef strip_traits<CHANNELS, SLOTS, STRIP_STEPS, SHARPENS> high;
    struct op_call samples[CUDA_BATCH_MAX];
    batch_sample_calls(samples, calls, count);
    if (count == 1)
        return strips_are_few(context, samples[0])
                   ? run_strips_alone<low>(context, samples[0], gaussian, rule)
                   : run_strips_alone<high>(context, samples[0], gaussian, rule);
    struct batch batch;
    const enum status status = batch_init_tiles(&batch, samples, count, STRIP_TILE, high::HEIGHT);
    if (status) return status;
    return launch_strips<high, CUDA_BATCH_MAX>(context, batch, gaussian, rule, calls[0].failure);
}

template <int CHANNELS, int SLOTS>
static enum status run_strips_as(const struct cuda_context *context, const struct op_call *calls,
                                 int count, const struct gaussian *gaussian,
                                 const struct finish_rule &rule) {
    return rule.sharpens
               ? run_strips_as<CHANNELS, SLOTS, true>(context, calls, count, gaussian, rule)
               : run_strips_as<CHANNELS, SLOTS, false>(context, calls, count, gaussian, rule);
}

template <int CHANNELS>
static enum status run_strips(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct gaussian *gaussian,
                              const struct finish_rule &rule) {
    switch ((gaussian->reach + 3) / 4) {
    case 1: return run_strips_as<CHANNELS, 2>(context, calls, count, gaussian, rule);
    case 2: return run_strips_as<CHANNELS, 3>(context, calls, count, gaussian, rule);
    default: return run_strips_as<CHANNELS, 4>(context, calls, count, gaussian, rule);
    }
}

/* ---- areas */

/* An area's and a launch's sums; an area's width, pixels. Rows of the widest area are 32 KB of
 * sums. */
enum { AREA_BYTES = 32 << 20, LAUNCH_BYTES = 96 << 20, AREA_PIXELS = 2048 };

/* Goes through the areas of all calls, a launch's at a time. */
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

/* The next launch's areas, their sums from MEMORY on. Returns how many; BYTES of sums. */
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

/* ---- which way */

static bool fits_strips(const struct image *in, const struct gaussian *gaussian) {
    return in->depth == 8 && gaussian->reach <= STRIP_REACH_MAX;
}

template <int CHANNELS>
static enum status run_channels(const struct cuda_context *context, const struct op_call *calls,
                                int count, const struct gaussian *gaussian,
                                const struct finish_rule &rule) {
    if (fits_strips(&calls[0].in, gaussian))
        return run_strips<CHANNELS>(context, calls, count, gaussian, rule);
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
    case 1: status = run_channels<1>(context, calls, count, &gaussian, rule); break;
    case 2: status = run_channels<2>(context, calls, count, &gaussian, rule); break;
    case 3: status = run_channels<3>(context, calls, count, &gaussian, rule); break;
    default: status = run_channels<4>(context, calls, count, &gaussian, rule); break;
    }
    if (!status) cuda_record_kernel(context, name);
    return status;
}
