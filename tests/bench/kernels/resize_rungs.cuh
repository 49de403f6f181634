// SPDX-License-Identifier: Apache-2.0
/* resize_rungs.cuh - ways to resize a set of a scene's pictures once.
 *
 * Used by:  resize.cu.
 * Fails:    the program ends with a sentence.
 */
#ifndef BURIN_RESIZE_RUNGS_CUH
#define BURIN_RESIZE_RUNGS_CUH

#include "tests/bench/kernels/resize_dp4a.cuh"
#include "tests/bench/kernels/resize_scene.cuh"
#include "tests/bench/kernels/resize_textbook.cuh"

typedef void (*rung)(const struct scene &scene, int set);

static void must(enum status status, const struct failure &failure) {
    if (!status) return;
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
}

/* ---- the operator */

static void run_shipped(const struct scene &scene, const struct cuda_context &context, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    make_calls(scene, set, calls, &failure);
    must(cuda_op_resize.run(&context, calls, scene.batch), failure);
}

static void rung_shipped(const struct scene &scene, int set) {
    run_shipped(scene, scene.context, set);
}

/* Older GPUs' order: the second pass begins when the first has ended. */
static void rung_apart(const struct scene &scene, int set) {
    struct cuda_context context = scene.context;
    context.capability = OVERLAP_CAPABILITY - 1;
    run_shipped(scene, context, set);
}

static struct textbook_axis textbook_x, textbook_y;

static void rung_textbook(const struct scene &scene, int set) {
    for (int i = 0; i < scene.batch; i++) {
        struct image in = scene.in, out = scene.out;
        in.pixels = in_of(scene, set, i), out.pixels = out_of(scene, set, i);
        textbook_resize(&textbook_x, &textbook_y, in, out, scene.scratch, scene.context.stream);
    }
}

/* ---- the operator's passes */

/* A set's pictures as the operator lays them out, with its tables. */
static void lay_set(const struct scene &scene, int set, struct op_call *calls, struct group *group,
                    struct failure *failure) {
    size_t bytes;
    make_calls(scene, set, calls, failure);
    group->context = &scene.context;
    group->failure = failure;
    if (!group_lay(group, calls, scene.batch, scene.scratch, &bytes) && !group_get_tables(group))
        return;
    fprintf(stderr, "%s\n", failure->message);
    exit(1);
}

typedef void (*across_pass)(struct across_batch);
typedef void (*down_pass)(struct down_batch);

/* COLUMNS of a tile, if a block has room for them, KERNEL of WARPS; 0 and NULL: as the operator
 * chooses. */
template <class K>
static void launch_across(const struct scene &scene, const struct group &group, uint32_t columns,
                          across_pass kernel, unsigned warps) {
    struct tiles<across_batch> tiles = {};
    struct failure failure = {};
    tiles.batch.rule = group.rule;
    for (int i = 0; i < scene.batch; i++) {
        const struct weighing &weigh = group.pictures[i].weigh;
        add_across<K>(&scene.context, weigh, scene.batch, 0, weigh.x.count, &tiles);
        if (columns == 0) continue;
        const uint32_t span = across_span(&weigh.x, columns, weigh.across.note);
        if (stage_bytes<K>(span) > (size_t)scene.context.shared_bytes) continue;
        struct across_image image = tiles.batch.images[--tiles.batch.count];
        tiles.count = image.first_tile;
        image.tile_columns = (uint16_t)columns;
        image.span = (uint16_t)span;
        tiles.shared_bytes = stage_bytes<K>(image.span);
        const uint32_t across = tiles_over(image.columns, columns);
        const uint32_t lines = between_lines(&weigh.y) / (STAGE_ROWS / 4);
        image.share = tiles_share(across);
        if (i == 0) tiles.batch.share = tiles_share(across * lines);
        tiles_add(&tiles, image, across, lines);
    }
    const uint32_t window = table_steps(group.pictures[0].weigh.across.note);
    must(kernel ? tiles_launch(tiles, kernel, 32 * warps, scene.context.stream, &failure)
                : across_launch<K>(&scene.context, tiles, window, &failure),
         failure);
}

/* KERNEL: NULL as the operator chooses. */
template <class K>
static void launch_down(const struct scene &scene, const struct group &group, down_pass kernel) {
    struct tiles<down_batch> tiles = {};
    struct failure failure = {};
    tiles.overlaps = scene.context.capability >= OVERLAP_CAPABILITY;
    tiles.batch.rule = group.rule;
    tiles.batch.channels = scene.out.channels;
    for (int i = 0; i < scene.batch; i++)
        add_down<K>(group.pictures[i].weigh, 0, group.pictures[i].weigh.x.count, &tiles);
    const uint32_t window = table_steps(group.pictures[0].weigh.down.note);
    must(kernel ? tiles_launch(tiles, kernel, DOWN_THREADS, scene.context.stream, &failure)
                : down_launch<K>(&scene.context, tiles, window, &failure),
         failure);
}

enum { ACROSS_ALONE = 1, DOWN_ALONE = 2, BOTH_PASSES = 3 };

template <class K, int PASSES, int COLUMNS = 0, across_pass ACROSS = nullptr, int WARPS = 0,
          down_pass DOWN = nullptr>
static void rung_passes(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    struct group group;
    lay_set(scene, set, calls, &group, &failure);
    if (PASSES & ACROSS_ALONE) launch_across<K>(scene, group, COLUMNS, ACROSS, WARPS);
    if (PASSES & DOWN_ALONE) launch_down<K>(scene, group, DOWN);
}

/* Only loads the first pass's input into shared memory and prepares it. */
template <class K, int WARPS>
static __global__ void __launch_bounds__(32 * WARPS)
    across_load(const __grid_constant__ struct across_batch batch) {
    extern __shared__ uint4 across_shared[];
    const struct across_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const struct across_tile tile = across_tile_of(image, blockIdx.x - image.first_tile);
    uint32_t *const staged = (uint32_t *)across_shared;
    const uint32_t pitch = stage_pitch<K>(image.span);
    const struct stage_source source = across_source(image, tile);
    stage<K, WARPS>(source, batch.rule, pitch, staged);
    if (K::PLAIN) stage_wait();
}

/* The second pass in the order of the first, not from its end, which is in the L2 cache. */
template <class K, bool SHORT>
static __global__ void __launch_bounds__(DOWN_THREADS, down_blocks<K, SHORT>())
    down_forth(const __grid_constant__ struct down_batch batch) {
    down_block<K, SHORT>(batch, blockIdx.x);
}

/* ---- nothing */

static __global__ void nothing(void) {
    overlap_begin();
    overlap_wait();
}

/* The operator's number of launches. */
static void rung_nothing(const struct scene &scene, int) {
    for (int i = 0; i < 2; i++) nothing<<<1, 32, 0, scene.context.stream>>>();
}

/* ---- before tensor cores */

static struct device_table dp4a_table(const struct scene &scene, const struct resample_axis &axis) {
    struct device_table table;
    struct failure failure = {};
    struct device_table_key key = table_key(&axis);
    key.numbers[DEVICE_TABLE_NUMBERS - 1] = 1;
    must(device_tables_get(scene.context.tables, scene.context.stream, &key,
                           dp4a::table_bytes(&axis), dp4a::table_make, &table, &failure),
         failure);
    return table;
}

template <class K> static void rung_dp4a(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    struct group group;
    struct tiles<dp4a::across_batch> across = {};
    struct tiles<dp4a::down_batch> down = {};
    lay_set(scene, set, calls, &group, &failure);
    const struct weighing &first = group.pictures[0].weigh;
    const struct device_table x = dp4a_table(scene, first.x), y = dp4a_table(scene, first.y);
    across.batch.rule = down.batch.rule = group.rule;
    down.batch.channels = scene.out.channels;
    for (int i = 0; i < scene.batch; i++) {
        dp4a::add_across<K>(&scene.context, group.pictures[i].weigh, x, &across);
        dp4a::add_down<K>(group.pictures[i].weigh, y, &down);
    }
    must(tiles_launch(across, dp4a::across_kernel<K>, dp4a::ACROSS_THREADS, scene.context.stream,
                      &failure),
         failure);
    must(tiles_launch(down, dp4a::down_kernel<K>, dp4a::DOWN_THREADS, scene.context.stream,
                      &failure),
         failure);
}

#endif
