// SPDX-License-Identifier: Apache-2.0
/* parameter_sets.h - parameters to test an operator with, each as the text of a plan of one step.
 *
 * Used by:  every_op.c, hidden_colours.c, tests/pipeline/ops/hidden_colours.c.
 * Limits:   SETS_MAX for each operator.
 */
#ifndef BURIN_TESTS_CUDA_PARAMETER_SETS_H
#define BURIN_TESTS_CUDA_PARAMETER_SETS_H

#include "pipeline/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SETS_MAX = 64 };

static const struct {
    const char *op, *values;
} chosen[] = {
    { "histeq", "bins=2" },
    { "histeq", "bins=7,scale=maxabs" },
    { "histeq", "bins=100,channel=luma" },
    { "histeq", "bins=65536,scale=maxabs,channel=luma" },
    { "histeq", "bins=1000,channel=each,scale=maxabs" },
    { "histeq", "bins=40000" },
    { "histogram", "bins=7" },
    { "histogram", "bins=255" },
    { "histogram", "bins=257" },
    { "histogram", "bins=5000" },
    { "blur", "sigma=0.5" },
    { "blur", "sigma=0.8" },
    { "blur", "sigma=3" },
    { "blur", "sigma=5.25" },
    { "blur", "sigma=12" },
    { "clahe", "tiles=3,clip=0" },
    { "clahe", "tiles=5,clip=11.5,channel=luma" },
    { "clahe", "tiles=16,clip=40,channel=each" },
    { "clahe", "tiles=7,clip=1" },
    { "carve", "dx=-2" },
    { "carve", "dx=-1,dy=-1" },
    { "carve", "dx=2,energy=sobel3" },
    { "carve", "dy=-3,energy=sobel5" },
    { "carve", "dx=-5,dy=-4,energy=sobel3" },
    { "carve", "dx=-4,dy=-6" },
    { "carve", "dy=6" },
    { "carve", "dx=3,dy=2,energy=sobel5" },
    { "carve", "dx=-2,dy=5" },
    { "carve", "width=1" },
    { "carve", "height=1,energy=sobel3" },
    { "carve", "width=130,height=60" },
    { "carve", "dx=-3,dy=-2,show=seams" },
    { "carve", "dx=4,dy=-1,show=seams,energy=sobel3" },
    { "carve", "dx=9,dy=8,show=seams" },
    { "carve", "show=energy" },
    { "carve", "show=energy,energy=sobel3" },
    { "carve", "show=energy,energy=sobel5" },
    { "carve", "show=map" },
    { "carve", "dx=-9,show=map" },
    { "carve", "dx=1,show=map,energy=sobel3" },
    { "carve", "dx=6,show=map,energy=sobel5" },
    { "carve", "dy=-5,show=map" },
    { "carve", "dy=1,show=map" },
    { "carve", "width=1,show=map" },
    { "carve", "dx=-2,energy=forward" },
    { "carve", "dx=-3,dy=-2,energy=forward,rigidity=20" },
    { "carve", "dy=5,rigidity=7" },
    { "carve", "show=energy,energy=forward" },
    { "carve", "dx=-2,soft=true" },
    { "composite", "position=southeast,x=-3,y=2,opacity=0.4,scale=37" },
    { "composite", "tile=true,x=5,y=-70,colour=false" },
    { "composite", "tile=true,scale=9,opacity=0.7,blend=soft-light" },
    { "composite", "position=northwest,x=2,blend=overlay,opacity=0.3" },
    { "convolve", "taps=1 2 1 2 4 2 1 2 1,divisor=16" },
    { "convolve", "taps=-1 -2 -1 0 0 0 1 2 1,abs=true" },
    { "convolve", "taps=-1 0 1 -2 0 2 -1 0 1,divisor=3,offset=100" },
    { "convolve", "taps=1 4 6 4 1 4 16 24 16 4 6 24 36 24 6 4 16 24 16 4 1 4 6 4 1" },
    { "convolve", "taps=1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 "
                  "1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024,"
                  "divisor=1048576,offset=-7" },
    { "levels", "black=30,white=31" },
    { "levels", "black=20,white=230,gamma=0.6,channel=red" },
    { "levels", "black=99,white=188,channel=blue" },
    { "normalize", "lower=12.5,upper=60,channel=each" },
    { "normalize", "lower=0,upper=100,channel=each" },
    { "normalize", "lower=0,upper=100" },
    { "matrix", "matrix=0.393 0.769 0.189 1.349 -0.686 0.168 -0.272 0.534 -0.131" },
    { "matrix", "matrix=7.999 -7.999 7.999 -7.999 -7.999 -7.999 -7.999 7.999 0.1 0.2 0.3 -0.25" },
    { "edge", "kernel=sobel5,border=zero,binary=true,threshold=60,brightness=25" },
    { "edge", "kernel=sobel5,threshold=200,brightness=-90" },
    { "edge", "border=zero,binary=true,threshold=254" },
    { "edge", "border=zero,brightness=-40" },
    { "edge", "brightness=120,threshold=33" },
    { "edge", "binary=true" },
    { "sharpen", "sigma=0.5,amount=77" },
    { "sharpen", "sigma=3,amount=250,threshold=9" },
    { "sharpen", "sigma=12,amount=1000" },
    { "extract", "width=1,height=1" },
    { "extract", "left=3,top=1,width=11,height=9" },
    { "extract", "left=5,top=2,width=118,height=60" },
    { "extract", "left=17,width=300,height=700" },
    { "smartcrop", "width=3" },
    { "smartcrop", "width=5,height=7" },
    { "smartcrop", "height=41,width=12" },
    { "smartcrop", "height=1" },
    { "smartcrop", "width=640,height=480" },
    { "crop", "width=5" },
    { "crop", "height=1,gravity=west" },
    { "crop", "width=3,height=2,gravity=southeast" },
    { "crop", "width=999,height=601,gravity=northeast" },
    { "resize", "width=1" },
    { "resize", "height=1000" },
    { "resize", "width=1,height=1,fit=fill" },
    { "resize", "width=700,height=3,fit=fill,kernel=cubic" },
    { "resize", "width=3,height=900,fit=fill,kernel=linear,linear=true" },
    { "resize", "width=1000,height=17,fit=fill,kernel=box" },
    { "resize", "width=13,height=42,fit=cover,x=900,y=100" },
    { "resize", "width=123,height=66,fit=contain,background=80c0ff,position=southeast" },
    { "resize", "width=61,height=200,fit=contain,linear=true,background=00000000,kernel=nearest" },
    { "resize", "width=123,height=66,fit=contain,around=edge,position=southeast" },
    { "resize", "width=9,height=500,fit=contain,around=mirror,kernel=cubic" },
    { "resize", "width=500,height=9,fit=contain,around=mirror,enlarge=false,x=100" },
    { "resize", "width=100,height=30,position=smart,kernel=linear" },
    { "resize", "width=40,height=90,position=smart,linear=true" },
    { "resize", "width=60,height=60,fit=carve,share=50,position=smart" },
    { "resize", "width=300,height=200,enlarge=false,position=west,linear=true" },
    { "resize", "width=64,height=64,kernel=nearest,position=smart" },
    { "pad", "right=70,around=mirror" },
    { "pad", "top=33,left=101,around=edge" },
    { "pad", "bottom=1,background=808080" },
    { "pixelate", "size=2" },
    { "pixelate", "size=61" },
    { "pixelate", "size=300" },
    { "rotate", "angle=90" },
    { "rotate", "angle=270" },
    { "rotate", "angle=180" },
    { "rotate", "angle=45" },
    { "rotate", "angle=-17.5,background=10203080" },
    { "rotate", "angle=300.001,background=808080" },
    { "rotate", "angle=100,background=ff000000" },
    { "resize", "width=9,height=65,fit=fill" },
    { "resize", "width=33,height=7,position=southeast,kernel=cubic" },
    { "zoom", "times=3" },
    { "zoom", "times=5" },
};

struct sets {
    int count;
    char text[SETS_MAX][192];
};

/* Appends ":name=value" or ",name=value". */
static void add_setting(char *text, size_t size, const char *name, const char *value) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%c%s=%s", strchr(text, ':') ? ',' : ':', name, value);
}

/* OP with what its record says to try it with, and with NAME as VALUE. */
static void add_set(struct sets *sets, const struct op *op, const char *name, const char *value) {
    assert_true(sets->count < SETS_MAX);
    char *text = sets->text[sets->count++];
    const size_t size = sizeof sets->text[0];
    snprintf(text, size, "%s", op->name);
    for (const struct param *param = op->params; param->type != PARAM_NONE; param++) {
        char number[32];
        if (!param->example || (name && strcmp(param->name, name) == 0)) continue;
        snprintf(number, sizeof number, "%ld", param->example);
        add_setting(text, size, param->name, number);
    }
    if (name) add_setting(text, size, name, value);
}

/* Both ends and the middle of a range, and every choice, one parameter at a time. Not of sizes,
 * whose ends are no work or hours of it. */
static void vary(struct sets *sets, const struct op *op, const struct param *param) {
    char value[32];
    const long numbers[] = { param->min, param->max, (param->min + param->max) / 2 };
    const bool size = param->unit && strcmp(param->unit, "pixels") == 0;
    for (int i = 0; i < 3 && param->type == PARAM_INT && !size; i++) {
        snprintf(value, sizeof value, "%ld", numbers[i]);
        add_set(sets, op, param->name, value);
    }
    for (int i = 0; i < 3 && param->type == PARAM_DECIMAL; i++)
        add_set(sets, op, param->name, param_decimal_print(numbers[i], value));
    for (int i = 0; i < CHOICES_MAX && param->type == PARAM_CHOICE && param->choices[i]; i++)
        add_set(sets, op, param->name, param->choices[i]);
    if (param->type == PARAM_BOOL) add_set(sets, op, param->name, param->def ? "false" : "true");
    for (int i = 0; i < 3 && param->type == PARAM_PAIR; i++) {
        snprintf(value, sizeof value, "%ldx%ld", numbers[i], numbers[(i + 1) % 3]);
        add_set(sets, op, param->name, value);
    }
    if (param->type == PARAM_COLOUR) add_set(sets, op, param->name, "c0ffee80");
}

static void list_sets(struct sets *sets, const struct op *op) {
    sets->count = 0;
    add_set(sets, op, NULL, NULL);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (strcmp(chosen[i].op, op->name) == 0) {
            assert_true(sets->count < SETS_MAX);
            snprintf(sets->text[sets->count++], sizeof sets->text[0], "%s:%s", op->name,
                     chosen[i].values);
        }
    if (strcmp(op->name, "carve") == 0) return; /* its extremes are hours of work */
    for (const struct param *p = op->params; p->type != PARAM_NONE; p++) vary(sets, op, p);
}

#endif
