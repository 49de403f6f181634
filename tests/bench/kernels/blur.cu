// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder of cuda/ops/blur.cu and sharpen.cu's common part, cuda/smooth.cu
 * (operator_ladder.cuh). Goals, alone and warm: 1080p RGB with sigma 1 / 3 9 / 12.
 */
#include "cuda/ops/blur.cu"
#include "cuda/smooth.cu"

#include "tests/bench/kernels/operator_ladder.cuh"

static const struct kind kinds[] = {
    { "1080p RGB, sigma 1", 1920, 1080, 3, 8, "blur:sigma=1", false, false },
    { "1080p RGB, sigma 2", 1920, 1080, 3, 8, "blur:sigma=2", false, false },
    { "1080p RGB, sigma 3", 1920, 1080, 3, 8, "blur:sigma=3", false, false },
    { "1080p RGB, sigma 3.3", 1920, 1080, 3, 8, "blur:sigma=3.3", false, false },
    { "1080p RGB, sigma 16", 1920, 1080, 3, 8, "blur:sigma=16", false, false },
    { "1080p gray, sigma 1", 1920, 1080, 1, 8, "blur:sigma=1", false, false },
    { "1080p gray, sigma 3", 1920, 1080, 1, 8, "blur:sigma=3", false, false },
    { "1080p RGBA, sigma 1", 1920, 1080, 4, 8, "blur:sigma=1", false, false },
    { "1080p RGBA, sigma 3", 1920, 1080, 4, 8, "blur:sigma=3", false, false },
    { "4K RGB, sigma 1", 3840, 2160, 3, 8, "blur:sigma=1", false, false },
    { "4K RGB, sigma 3", 3840, 2160, 3, 8, "blur:sigma=3", false, false },
    { "320x240 RGB, sigma 1", 320, 240, 3, 8, "blur:sigma=1", false, false },
    { "1080p RGB 16 bit, sigma 1", 1920, 1080, 3, 16, "blur:sigma=1", false, false },
};

int main(int count, char **arguments) {
    const struct ladder ladder = { "blur", &cuda_op_blur, kinds, sizeof kinds / sizeof *kinds,
                                   NULL };
    return ladder_main(ladder, count, arguments);
}
