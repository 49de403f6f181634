// SPDX-License-Identifier: Apache-2.0
/* exact_math [MILLIONS] [FUNCTION] - the largest error in ulp and the time of each function of
 * pipeline/skeletons/exact_math.h.
 *
 * How it works. Random arguments of several kinds for each function: all bits random, uniform over
 * the interesting range, near the places where methods change. The true value is libquadmath's, of
 * 113 bits; a result's distance from it is counted in units of a double's last bit there. Times are
 * of one call in a loop over an array, which the compiler may vectorize.
 */
#define BURIN_MATH_NO_NAMES
#include "pipeline/skeletons/exact_math.h"

#include <quadmath.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef __float128 quad;

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

static double uniform(double low, double high) {
    return low + (high - low) * ((double)(int64_t)(random_bits() >> 11) * 0x1p-53);
}

struct function {
    const char *name;
    double (*ours)(double), (*ours_2)(double, double);
    quad (*truth)(quad), (*truth_2)(quad, quad);
    double low, high; /* where most arguments come from */
    double near;      /* and many from around it, at all distances */
};

static quad exp2_quad(quad x) {
    return exp2q(x);
}

#define ONE(name, low, high, near)                                                                 \
    { #name, burin_##name, NULL, name##q, NULL, low, high, near }
#define TWO(name, low, high, near)                                                                 \
    { #name, NULL, burin_##name, NULL, name##q, low, high, near }
static const struct function functions[] = {
    ONE(exp, -746, 710, 0),
    { "exp2", burin_exp2, NULL, exp2_quad, NULL, -1076, 1025, 0 },
    ONE(expm1, -40, 710, 0),
    ONE(log, 0, 4, 1),
    ONE(log2, 0, 4, 1),
    ONE(log10, 0, 4, 1),
    ONE(log1p, -1, 3, 0),
    ONE(sin, -7, 7, 3.14159265358979323846),
    ONE(cos, -7, 7, 1.57079632679489661923),
    ONE(tan, -7, 7, 1.57079632679489661923),
    ONE(asin, -1, 1, 1),
    ONE(acos, -1, 1, 1),
    ONE(atan, -20, 20, 1),
    ONE(sinh, -711, 711, 0),
    ONE(cosh, -711, 711, 0),
    ONE(tanh, -20, 20, 0),
    ONE(sqrt, 0, 4, 1),
    ONE(cbrt, -8, 8, 1),
    TWO(pow, 0, 20, 1),
    TWO(atan2, -4, 4, 1),
    TWO(hypot, -4, 4, 1),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double argument(const struct function *function, unsigned kind) {
    const uint64_t bits = random_bits();
    double x;
    switch (kind % 4) {
    case 0: memcpy(&x, &bits, 8); return x;
    case 1: return uniform(function->low, function->high);
    case 2: return function->near + (bits & 1 ? 1 : -1) * burin_exp2(uniform(-60, 3));
    default: return uniform(-1, 1) * burin_exp2(uniform(-40, 30));
    }
}

/* In units of the last bit that a double of the true value's size has. */
static double error_of(double got, quad truth) {
    if (isnanq(truth)) return got != got ? 0 : 1e9;
    const double nearest = (double)truth;
    if (got == nearest) {
        if (isinfq((quad)nearest)) return 0;
    } else if (got - got != 0 || nearest - nearest != 0) {
        return 1e9;
    }
    int exponent;
    frexpq(truth, &exponent);
    if (exponent < -1021) exponent = -1021;
    const quad off = scalbnq((quad)got - truth, 53 - exponent);
    return (double)fabsq(off);
}

static void measure_error(const struct function *function, long count) {
    double worst = 0, at = 0, at_2 = 0;
    for (long i = 0; i < count; i++) {
        const double x = argument(function, (unsigned)i);
        double y = 0, error;
        if (function->ours) {
            error = error_of(function->ours(x), function->truth((quad)x));
        } else {
            y = argument(function, (unsigned)(i / 4));
            /* Arguments whose power is neither 0 nor infinity. */
            if (i & 16 && function->ours_2 == burin_pow)
                y = uniform(-746, 710) / burin_log(burin_fabs(x));
            error = error_of(function->ours_2(x, y), function->truth_2((quad)x, (quad)y));
        }
        if (error > worst) worst = error, at = x, at_2 = y;
    }
    printf("%-6s %.4f ulp at %a %a", function->name, worst, at, at_2);
    fflush(stdout);
}

enum { TIMED = 4096, ROUNDS = 200 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double in[TIMED], in_2[TIMED], out[TIMED];

/* A loop of its own for each function, so that it may be inlined. */
#define LOOP(name)                                                                                 \
    static void loop_##name(void) {                                                                \
        for (int i = 0; i < TIMED; i++) out[i] = burin_##name(in[i]);                              \
        __asm__ volatile("" ::"r"(out) : "memory");                                                \
    }
#define LOOP_2(name)                                                                               \
    static void loop_##name(void) {                                                                \
        for (int i = 0; i < TIMED; i++) out[i] = burin_##name(in[i], in_2[i]);                     \
        __asm__ volatile("" ::"r"(out) : "memory");                                                \
    }
LOOP(exp)
LOOP(exp2)
LOOP(expm1)
LOOP(log)
LOOP(log2)
LOOP(log10)
LOOP(log1p)
LOOP(sin)
LOOP(cos)
LOOP(tan)
LOOP(asin)
LOOP(acos)
LOOP(atan)
LOOP(sinh)
LOOP(cosh)
LOOP(tanh)
LOOP(sqrt)
LOOP(cbrt)
LOOP_2(pow)
LOOP_2(atan2)
LOOP_2(hypot)
static void (*const loops[FUNCTIONS])(void) = {
    loop_exp,  loop_exp2, loop_expm1, loop_log,  loop_log2, loop_log10, loop_log1p,
    loop_sin,  loop_cos,  loop_tan,   loop_asin, loop_acos, loop_atan,  loop_sinh,
    loop_cosh, loop_tanh, loop_sqrt,  loop_cbrt, loop_pow,  loop_atan2, loop_hypot,
};

static void measure_time(int i) {
    for (int j = 0; j < TIMED; j++) {
        in[j] = uniform(functions[i].low < -10 ? -10 : functions[i].low,
                        functions[i].high > 10 ? 10 : functions[i].high);
        in_2[j] = uniform(-4, 4);
    }
    loops[i]();
    const double start = now_ns();
    for (int j = 0; j < ROUNDS; j++) loops[i]();
    const double array = (now_ns() - start) / TIMED / ROUNDS;
    printf("   %.1f ns in an array\n", array);
}

int main(int count, char **words) {
    const double millions = count > 1 ? strtod(words[1], NULL) : 0.2;
    for (int i = 0; i < FUNCTIONS; i++) {
        if (count > 2 && strcmp(words[2], functions[i].name)) continue;
        measure_error(&functions[i], (long)(millions * 1e6));
        measure_time(i);
    }
}
