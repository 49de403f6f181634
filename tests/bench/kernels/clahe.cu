// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder of cuda/ops/clahe.cu (operator_ladder.cuh): the textbook's kernels and
 * the operator. `tables` and `blend` are its two kernels, `equalize` the one of a picture alone.
 * Goals, alone and warm: 1080p gray 14, 4K gray 30.
 *
 * Textbook: a block of 256 threads a tile, whose counters in shared memory all threads share, and
 * whose table one thread sums up; then a thread a pixel, which looks into four tables.
 */
#include "cuda/ops/clahe.cu"

#include "tests/bench/kernels/operator_ladder.cuh"

static const struct kind kinds[] = {
    { "1080p gray", 1920, 1080, 1, 8, "clahe", false, true },
    { "4K gray", 3840, 2160, 1, 8, "clahe", false, true },
    { "8K gray", 7680, 4320, 1, 8, "clahe", false, true },
    { "4K gray, smooth", 3840, 2160, 1, 8, "clahe", true, true },
    { "4K gray, 1 tile", 3840, 2160, 1, 8, "clahe:tiles=1", false, false },
    { "4K gray, 64 tiles", 3840, 2160, 1, 8, "clahe:tiles=64", false, true },
    { "320x240 gray", 320, 240, 1, 8, "clahe", false, true },
    { "1080p RGB", 1920, 1080, 3, 8, "clahe", false, false },
    { "4K RGB", 3840, 2160, 3, 8, "clahe", false, false },
    { "1080p RGB luma", 1920, 1080, 3, 8, "clahe:channel=luma", false, false },
    { "1080p RGB each", 1920, 1080, 3, 8, "clahe:channel=each", false, false },
    { "1080p RGBA", 1920, 1080, 4, 8, "clahe", false, false },
    { "1080p gray 16 bit", 1920, 1080, 1, 16, "clahe", false, false },
    { "4K gray 16 bit", 3840, 2160, 1, 16, "clahe", false, false },
};

static __global__ void textbook_tables(struct image in, struct clahe_grid grid, uint8_t *tables) {
    __shared__ uint32_t counts[256];
    const uint32_t left = blockIdx.x * grid.x.tile, top = blockIdx.y * grid.y.tile;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < grid.x.tile * grid.y.tile; i += 256) {
        const uint32_t x = reflect((int32_t)(left + i % grid.x.tile), in.width),
                       y = reflect((int32_t)(top + i / grid.x.tile), in.height);
        atomicAdd(&counts[in.pixels[y * in.stride + x]], 1u);
    }
    __syncthreads();
    if (threadIdx.x) return;
    uint32_t excess = 0, sum = 0;
    for (int bin = 0; grid.limit && bin < 256; bin++)
        if (counts[bin] > grid.limit) {
            excess += counts[bin] - grid.limit;
            counts[bin] = grid.limit;
        }
    const struct clahe_share share = clahe_share_of(excess, 256);
    for (uint32_t bin = 0; bin < 256; bin++) {
        sum += counts[bin];
        tables[(blockIdx.y * grid.x.tiles + blockIdx.x) * 256 + bin] =
            (uint8_t)clahe_level(sum + clahe_shared_upto(share, bin), grid.scale, 255);
    }
}

static __global__ void textbook_blend(struct image in, struct image out, struct clahe_grid grid,
                                      const uint8_t *tables) {
    const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= in.width) return;
    const struct clahe_place across = clahe_place_of(x, grid.x.inverse),
                             down = clahe_place_of(y, grid.y.inverse);
    const uint8_t *row[2] = { tables + clahe_first_tile(down.cell) * grid.x.tiles * 256,
                              tables +
                                  clahe_second_tile(down.cell, grid.y.of) * grid.x.tiles * 256 };
    const uint32_t value = in.pixels[y * in.stride + x];
    const uint32_t left = clahe_first_tile(across.cell) * 256 + value,
                   right = clahe_second_tile(across.cell, grid.x.of) * 256 + value;
    out.pixels[y * out.stride + x] = (uint8_t)clahe_mix(
        row[0][left], row[0][right], row[1][left], row[1][right], across.second, down.second, 255);
}

static void rung_textbook(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    make_calls(scene, set, calls, &failure);
    for (int i = 0; i < scene.batch; i++) {
        const struct clahe_grid grid = grid_of(&calls[i]);
        textbook_tables<<<dim3(grid.x.tiles, grid.y.tiles), 256, 0, scene.context.stream>>>(
            calls[i].in, grid, scene.scratch);
        textbook_blend<<<dim3((scene.shape.width + 255) / 256, scene.shape.height), 256, 0,
                         scene.context.stream>>>(calls[i].in, calls[i].out, grid, scene.scratch);
    }
}

int main(int count, char **arguments) {
    const struct ladder ladder = { "clahe", &cuda_op_clahe, kinds, sizeof kinds / sizeof *kinds,
                                   rung_textbook };
    return ladder_main(ladder, count, arguments);
}
