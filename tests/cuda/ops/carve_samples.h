// SPDX-License-Identifier: Apache-2.0
/* carve_samples.h - images, masks and parameters with which both devices carve.
 *
 * Used by:  carve.c.
 */
#ifndef BURIN_TESTS_CUDA_OPS_CARVE_SAMPLES_H
#define BURIN_TESTS_CUDA_OPS_CARVE_SAMPLES_H

#include <stdint.h>

enum content { NOISE, GRADIENT, CONSTANT, PHOTO, WALLED };
enum { KEEP = 1, REMOVE = 2 };
/* With a sample's masks: other pixels are marked than those of a block. */
enum { DENSE = 4, SPARSE = 8, LINE = 12, ALL = 16, NONE = 20, MARKS = 24 };

struct sample {
    const char *plan;
    uint32_t width, height;
    unsigned channels, depth;
    enum content content;
    int masks;
};

static const struct sample small_samples[] = {
    { "carve:dx=-6", 123, 66, 3, 8, PHOTO, 0 },
    { "carve:dy=-5,energy=sobel5", 123, 66, 1, 16, NOISE, 0 },
    { "carve:dx=-5,dy=-4,energy=sobel3", 123, 66, 4, 8, PHOTO, 0 },
    { "carve:dx=-6,dy=-5", 100, 90, 3, 8, PHOTO, KEEP | REMOVE },
    { "carve:dx=-38,dy=-28", 40, 30, 3, 8, NOISE, 0 },
    { "carve:dx=-39,dy=-29,energy=sobel3", 40, 30, 1, 8, PHOTO, 0 },
    { "carve:dx=-90,dy=-3,energy=sobel5", 100, 90, 1, 8, PHOTO, 0 },
    { "carve:dx=-6", 100, 90, 2, 16, NOISE, REMOVE },
    { "carve:dx=9,dy=9", 20, 30, 3, 16, PHOTO, KEEP },
    { "carve:dx=-4,dy=6,show=seams", 60, 70, 2, 8, PHOTO, 0 },
    { "carve:dx=-4,dy=-3,show=seams", 60, 70, 3, 16, PHOTO, REMOVE },
    { "carve:dx=50,dy=40,show=seams", 20, 30, 1, 8, NOISE, 0 },
    { "carve:dx=-35,dy=90,show=seams", 70, 60, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:width=40,height=35,show=seams", 1, 1, 3, 8, NOISE, 0 },
    { "carve:show=energy,energy=sobel3", 60, 70, 4, 8, PHOTO, 0 },
    { "carve:dx=-9", 340, 400, 1, 8, WALLED, 0 },
    { "carve", 13, 42, 3, 8, PHOTO, REMOVE },
    { "carve", 42, 13, 1, 16, NOISE, REMOVE },
    { "carve:dx=30", 13, 42, 4, 16, NOISE, KEEP | REMOVE },
    { "carve", 1, 97, 3, 8, NOISE, REMOVE },
    { "carve:dy=2", 97, 1, 2, 8, NOISE, REMOVE },
    { "carve:dx=-2,dy=9,energy=sobel3", 60, 70, 4, 8, PHOTO, REMOVE },
    { "carve:dx=5,dy=-1,energy=sobel5", 70, 60, 1, 8, CONSTANT, KEEP | REMOVE },
    { "carve:show=seams", 60, 70, 3, 16, PHOTO, REMOVE },
    { "carve:dx=-3,dy=30,show=seams", 60, 70, 2, 8, NOISE, REMOVE },
    { "carve:dx=-30,show=map", 60, 70, 3, 8, NOISE, REMOVE },
    { "carve:dx=-180", 200, 100, 1, 8, PHOTO, KEEP | REMOVE },
    { "carve:dx=-29,show=map", 30, 2, 1, 8, NOISE, KEEP | REMOVE | SPARSE },
    { "carve:dx=-9,energy=forward", 123, 66, 3, 8, PHOTO, 0 },
    { "carve:dy=-9,energy=forward,rigidity=5", 123, 66, 1, 16, NOISE, KEEP | REMOVE },
    { "carve:dx=-9,dy=-8,energy=forward", 123, 66, 4, 8, PHOTO, 0 },
    { "carve:dx=-5,dy=-9,energy=forward,soft=true", 100, 90, 3, 8, NOISE, KEEP | REMOVE | ALL },
    { "carve:dx=-8,dy=-8,rigidity=30,energy=sobel5", 100, 90, 3, 8, NOISE, KEEP },
    { "carve:dx=-9,soft=true", 340, 400, 1, 8, PHOTO, REMOVE | SPARSE },
    { "carve:dx=30,dy=20,soft=true", 33, 42, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:rigidity=90", 60, 70, 3, 8, PHOTO, REMOVE },
    { "carve:dx=30,energy=forward,show=seams", 70, 60, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:dx=-20,energy=forward,show=map", 300, 200, 1, 8, NOISE, KEEP },
    { "carve:energy=forward,show=energy", 60, 70, 4, 8, PHOTO, 0 },
    { "carve:dx=-38,dy=-28,energy=forward", 40, 30, 3, 8, CONSTANT, 0 },
    { "carve:width=1,height=1,rigidity=4095", 13, 9, 3, 8, NOISE, 0 },
    { "carve:dx=-1,energy=forward", 2, 97, 1, 8, NOISE, 0 },
    { "carve:dy=-1,energy=forward", 97, 2, 1, 8, NOISE, 0 },
};

static const struct sample samples[] = {
    { "carve:dx=-40", 1920, 1080, 3, 8, PHOTO, 0 },
    { "carve:dx=-30,energy=sobel5", 1920, 1080, 1, 8, NOISE, 0 },
    { "carve:dy=-30,energy=sobel3", 1920, 1080, 3, 8, GRADIENT, 0 },
    { "carve:dx=-20,dy=-20", 1920, 1080, 3, 8, PHOTO, 0 },
    { "carve:dx=-25,dy=-35,energy=sobel5", 1001, 703, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:dx=-25,dy=-15", 801, 603, 1, 8, CONSTANT, 0 },
    { "carve:dx=-25,dy=-15", 803, 601, 1, 8, NOISE, KEEP },
    { "carve:dx=-60", 1000, 700, 3, 8, PHOTO, REMOVE },
    { "carve:dy=-60", 1000, 700, 3, 16, CONSTANT, KEEP | REMOVE },
    { "carve:dx=300", 500, 400, 3, 8, PHOTO, 0 },
    { "carve:dx=-30,dy=150", 400, 300, 4, 8, PHOTO, KEEP | REMOVE },
    { "carve:dx=100,dy=100,show=seams", 400, 300, 4, 16, PHOTO, 0 },
    { "carve:dx=-50,dy=-50,show=seams", 400, 300, 1, 8, NOISE, 0 },
    { "carve:dx=-50", 4097, 33, 1, 8, NOISE, 0 },
    { "carve:dy=-50", 33, 4097, 1, 8, NOISE, 0 },
    { "carve:dx=-5,dy=-50", 33, 4097, 3, 8, PHOTO, 0 },
    { "carve:dx=-30,dy=-40,energy=sobel3", 1080, 1920, 3, 8, NOISE, 0 },
    { "carve:dx=-3,dy=-200", 800, 600, 1, 8, PHOTO, 0 },
    { "carve:dx=-5,dy=-5", 6000, 300, 1, 8, NOISE, 0 },
    { "carve:dx=-4,dy=-6", 100, 8000, 1, 8, PHOTO, 0 },
    { "carve:dx=200,dy=150,show=seams", 640, 500, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:dx=-200,dy=900,show=seams", 800, 600, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:dx=900,dy=-300,show=seams", 900, 800, 3, 16, NOISE, 0 },
    { "carve:dx=-60,dy=-60", 300, 300, 1, 8, CONSTANT, 0 },
    { "carve:dx=-99,dy=-1", 1000, 64, 3, 8, NOISE, 0 },
    { "carve:dx=-12", 3840, 2160, 3, 8, PHOTO, 0 },
    { "carve:dx=-6,dy=-6", 3840, 2160, 3, 8, NOISE, 0 },
    { "carve:dx=-4", 20000, 700, 3, 8, NOISE, 0 },
    { "carve:dx=-5,energy=sobel5", 700, 20000, 1, 8, NOISE, 0 },
    { "carve:dx=-3", 8192, 8192, 1, 8, PHOTO, 0 },
    { "carve:dx=-2,energy=sobel3", 16000, 5000, 1, 8, PHOTO, 0 },
    { "carve:dx=-1,dy=-7", 700, 20000, 1, 8, PHOTO, 0 },
    { "carve:dx=-9", 65535, 9, 3, 8, NOISE, 0 },
    { "carve:dy=-9,energy=sobel5", 10, 65535, 1, 16, NOISE, 0 },
    { "carve:dx=-7,energy=sobel3", 65535, 40, 1, 8, PHOTO, KEEP | REMOVE },
    { "carve:dx=-5,dy=-6", 65535, 12, 3, 8, NOISE, 0 },
    { "carve:dx=-5,dy=-6", 12, 65535, 1, 8, NOISE, KEEP },
    { "carve:dx=-20,dy=20", 65515, 20, 2, 8, NOISE, 0 },
    { "carve:dx=20,dy=-2,show=seams", 65515, 3, 1, 8, NOISE, 0 },
    { "carve", 1920, 1080, 3, 8, PHOTO, REMOVE },
    { "carve:dx=300,dy=200", 1001, 703, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:dx=-10,energy=sobel5", 803, 601, 1, 8, NOISE, REMOVE },
    { "carve:dy=-10,show=seams", 640, 500, 3, 16, PHOTO, REMOVE },
    { "carve:dx=-40", 1920, 1080, 3, 8, PHOTO, KEEP },
    { "carve:dx=-40,show=map,energy=sobel3", 1920, 1080, 3, 8, NOISE, KEEP | REMOVE },
    { "carve:dy=-40,show=map", 1920, 1080, 3, 8, NOISE, KEEP | REMOVE | SPARSE },
    { "carve:dx=-7,show=map", 3840, 2160, 1, 8, CONSTANT, REMOVE | DENSE },
    { "carve:dx=-7,show=map", 7001, 333, 1, 8, PHOTO, KEEP | REMOVE | LINE },
    { "carve:dx=-3", 16000, 2300, 1, 8, PHOTO, KEEP },
    { "carve:dx=-5,show=map", 40, 2348, 1, 8, CONSTANT, KEEP | ALL },
    { "carve:dx=-40,energy=forward", 1920, 1080, 3, 8, PHOTO, 0 },
    { "carve:dx=-9,dy=-9,energy=forward,soft=true", 1001, 703, 4, 16, PHOTO, KEEP | REMOVE },
    { "carve:dx=-5,dy=-5,rigidity=9", 803, 601, 1, 8, CONSTANT, KEEP },
    { "carve:dx=200,energy=forward,show=seams", 500, 481, 4, 16, NOISE, KEEP | REMOVE },
    { "carve:dx=-4,rigidity=4095,energy=sobel5,soft=true", 12, 65535, 1, 8, NOISE, KEEP | ALL },
    { "carve:dx=-4,energy=forward", 65535, 9, 3, 8, NOISE, 0 },
};

#endif
