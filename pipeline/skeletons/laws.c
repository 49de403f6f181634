// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/laws.h"

#include "pipeline/skeletons/user_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The operator for one depth, and the state of its random numbers. */
struct trial {
    const struct user_op *op;
    const struct twin_loops *loops;
    int depth;
    uint64_t random;
    _Alignas(8) unsigned char params[PARAMETER_STRUCT_BYTES_MAX];
};

static uint32_t next_random(struct trial *trial, uint32_t below) {
    trial->random = trial->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(trial->random >> 33) % below;
}

/* The number of a random sample: a picture of one pixel. */
static struct burin_fold random_number(struct trial *trial) {
    const uint32_t range = trial->depth == 8 ? 256 : 65536;
    const uint16_t sample = (uint16_t)next_random(trial, next_random(trial, 4) ? range : 8);
    struct burin_fold folds[3] = { { 0 } };
    const struct burin_rows rows = { .in = (const unsigned char *)&sample,
                                     .in_stride = sizeof sample,
                                     .width = 1,
                                     .height = 1,
                                     .channels = 1,
                                     .end = 1,
                                     .params = trial->params,
                                     .folds = folds };
    trial->loops->rows(&rows);
    return folds[0];
}

static struct burin_fold reduce(const struct trial *trial, struct burin_fold a,
                                struct burin_fold b) {
    trial->loops->merge(&a, &b, trial->params);
    return a;
}

/* A number as it occurs in a reduction: of one sample, or of up to 8. */
static struct burin_fold some_number(struct trial *trial, int round) {
    struct burin_fold number = random_number(trial);
    const uint32_t more = round < LAWS_TRIES / 2 ? 0 : next_random(trial, 8);
    for (uint32_t i = 0; i < more; i++) number = reduce(trial, number, random_number(trial));
    return number;
}

static const char *number_text(const struct trial *trial, struct burin_fold number, char text[24]) {
    if (scalar_type_is_signed(user_text_result(trial->op, trial->depth)))
        snprintf(text, 24, "%lld", number.value);
    else
        snprintf(text, 24, "%llu", (unsigned long long)number.value);
    return text;
}

static bool is_broken(struct trial *trial, int round, char text[LAWS_TEXT_MAX]) {
    const struct burin_fold a = some_number(trial, round), b = some_number(trial, round),
                            c = some_number(trial, round);
    const struct burin_fold ab = reduce(trial, a, b), ba = reduce(trial, b, a);
    const struct burin_fold left = reduce(trial, ab, c),
                            right = reduce(trial, a, reduce(trial, b, c));
    const char *f = trial->op->op.name;
    char of_a[24], of_b[24], of_c[24], one[24], other[24];
    number_text(trial, a, of_a), number_text(trial, b, of_b), number_text(trial, c, of_c);
    if (ab.value != ba.value)
        snprintf(text, LAWS_TEXT_MAX,
                 "%s is not commutative: %s(%s, %s) is %s, and %s(%s, %s) is %s", f, f, of_a, of_b,
                 number_text(trial, ab, one), f, of_b, of_a, number_text(trial, ba, other));
    else if (left.value != right.value)
        snprintf(text, LAWS_TEXT_MAX,
                 "%s is not associative: %s(%s(%s, %s), %s) is %s, and %s(%s, %s(%s, %s)) is %s", f,
                 f, f, of_a, of_b, of_c, number_text(trial, left, one), f, of_a, f, of_b, of_c,
                 number_text(trial, right, other));
    else
        return false;
    return true;
}

bool laws_broken(const struct user_op *op, char text[LAWS_TEXT_MAX]) {
    struct trial trial = { .op = op, .random = 1 };
    struct params params;
    params_init(&params, op->op.params);
    if (op->parameters) parameter_struct_fill(op->parameters, &params, trial.params);
    for (trial.depth = 8; trial.depth <= 16; trial.depth += 8) {
        trial.loops = &op->loops[trial.depth == 16];
        for (int round = 0; round < LAWS_TRIES && user_text_has(op, trial.depth); round++)
            if (is_broken(&trial, round, text)) return true;
    }
    return false;
}
