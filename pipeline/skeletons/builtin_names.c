// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/builtin_names.h"

#include "pipeline/param.h"

/* Those of exact_math/names.h, and what the skeletons add. */
const char *const builtin_names[] = {
    "exp",       "expf",       "exp2",   "exp2f",  "expm1",   "expm1f", "log",     "logf",
    "log2",      "log2f",      "log10",  "log10f", "log1p",   "log1pf", "sin",     "sinf",
    "cos",       "cosf",       "tan",    "tanf",   "asin",    "asinf",  "acos",    "acosf",
    "atan",      "atanf",      "sinh",   "sinhf",  "cosh",    "coshf",  "tanh",    "tanhf",
    "sqrt",      "sqrtf",      "cbrt",   "cbrtf",  "floor",   "floorf", "ceil",    "ceilf",
    "trunc",     "truncf",     "round",  "roundf", "rint",    "rintf",  "fabs",    "fabsf",
    "nearbyint", "nearbyintf", "pow",    "powf",   "atan2",   "atan2f", "hypot",   "hypotf",
    "fmod",      "fmodf",      "fmin",   "fminf",  "fmax",    "fmaxf",  "fdim",    "fdimf",
    "copysign",  "copysignf",  "abs",    "labs",   "llabs",   "lround", "lroundf", "llround",
    "llroundf",  "lrint",      "lrintf", "llrint", "llrintf", "isnan",  "isinf",   "isfinite",
    "signbit",   "atomicAdd",  NULL
};

bool builtin_is_function(const struct token *name) {
    for (int i = 0; builtin_names[i]; i++)
        if (token_is(name, builtin_names[i])) return true;
    return false;
}

const char *builtin_nearest(const char *name) {
    size_t count = 0;
    while (builtin_names[count]) count++;
    return nearest_name(name, builtin_names, count);
}
