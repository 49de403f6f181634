// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/builtin_names.h"

#include "pipeline/param.h"

const char *const builtin_names[] = {
    /* exact by IEEE 754, in double and float */
    "sqrt", "floor", "ceil", "trunc", "round", "rint", "fabs", "fmin", "fmax", "fmod", "copysign",
    "sqrtf", "floorf", "ceilf", "truncf", "roundf", "rintf", "fabsf", "fminf", "fmaxf", "fmodf",
    "copysignf",
    /* integers */
    "abs", "labs", "llabs", "atomicAdd",
    /* exact_math.h */
    "exp", "exp2", "log", "log2", "log10", "pow", "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "cbrt", "hypot", "expf", "exp2f", "logf", "log2f", "log10f",
    "powf", "sinf", "cosf", "tanf", "asinf", "acosf", "atanf", "atan2f", "sinhf", "coshf", "tanhf",
    "cbrtf", "hypotf", NULL
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
