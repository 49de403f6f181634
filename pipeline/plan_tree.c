// SPDX-License-Identifier: Apache-2.0
/* How it works. A tree becomes plain data part by part: for each step a record of four bytes and
 * the values of the parameters that are not at their default, then a record that ends the part.
 * Unpacking checks every number, since the data lie in memory that a worker can write. */
#include "pipeline/plan_tree.h"

#include "pipeline/registry.h"

#include <stdio.h>
#include <string.h>

enum status plan_tree_check(const struct plan_tree *tree, struct failure *failure) {
    for (int p = 1; p < tree->count; p++)
        if (tree->parts[0].count + tree->parts[p].count > PLAN_STEPS_MAX)
            return fail(failure, STATUS_BAD_PARAM,
                        "a pipeline takes at most %d steps; those that all outputs have and those "
                        "of one of them are %d",
                        PLAN_STEPS_MAX, tree->parts[0].count + tree->parts[p].count);
    for (int p = 1; p < tree->count; p++)
        if (tree->parts[0].count && tree->parts[p].count && tree->parts[p].steps[0].op->by_profile)
            return plan_refuse_later(tree->parts[p].steps[0].op, failure);
    return STATUS_OK;
}

/* ---- as plain data: a record for each step, and PART_END behind the steps of each part */

/* One step; the values of the parameters in `given` follow, in the order of the operator's list. */
struct record {
    uint16_t op;    /* index in the set; PART_END: no step */
    uint16_t given; /* bit i: parameter i is not at its default */
};

enum { PART_END = UINT16_MAX };

_Static_assert(PARAMS_MAX <= 16, "a record has a bit for each parameter");

static bool put(struct plan_data *data, const void *bytes, size_t length) {
    if (length > sizeof data->bytes - data->length) return false;
    memcpy(data->bytes + data->length, bytes, length);
    data->length += (uint32_t)length;
    return true;
}

/* Seven bits a byte, the lowest first, the sign in the lowest bit: small numbers take one byte. */
static bool put_number(struct plan_data *data, long number) {
    uint64_t rest = (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0);
    bool fits = true;
    do {
        const uint8_t byte = (uint8_t)(rest & 127) | (rest > 127 ? 128 : 0);
        rest >>= 7;
        fits = put(data, &byte, 1);
    } while (fits && rest);
    return fits;
}

/* True if PARAM is the operator's only list, which struct params holds apart. */
static bool is_taps(const struct param *param) {
    return param_is_list(param->type);
}

static bool is_default(const struct params *params, const struct param *list, int i) {
    return is_taps(&list[i]) ? !params->tap_count
                             : params->number[i] == list[i].def && !list[i].required;
}

static bool put_step(struct plan_data *data, const struct step *step, int op) {
    const struct param *list = step->op->params;
    struct record record = { (uint16_t)op, 0 };
    for (int i = 0; list && list[i].type; i++)
        if (!is_default(&step->params, list, i)) record.given |= (uint16_t)(1 << i);
    bool fits = put(data, &record, sizeof record);
    for (int i = 0; fits && record.given >> i; i++) {
        if (!(record.given >> i & 1)) continue;
        if (!is_taps(&list[i])) {
            fits = put_number(data, step->params.number[i]);
            continue;
        }
        fits = put_number(data, step->params.tap_count);
        for (int t = 0; fits && t < step->params.tap_count; t++)
            fits = put_number(data, step->params.taps[t]);
    }
    return fits;
}

/* The place of OP in OPS, which a plan's operators always have. */
static int place_of(const struct op_set *ops, const struct op *op) {
    int place = 0;
    while (place < op_set_count(ops) && op_set_at(ops, place) != op) place++;
    return place; /* one too many: unpacking refuses it */
}

enum status plan_tree_pack(const struct plan_tree *tree, struct plan_data *data,
                           struct failure *failure) {
    static const struct record end = { PART_END, 0 };
    bool fits = true;
    data->length = 0;
    for (int p = 0; p < tree->count && fits; p++) {
        const struct plan *plan = &tree->parts[p];
        const struct op_set *ops = plan->ops ? plan->ops : registry_set();
        for (int s = 0; s < plan->count && fits; s++)
            fits = put_step(data, &plan->steps[s], place_of(ops, plan->steps[s].op));
        fits = fits && put(data, &end, sizeof end);
    }
    if (fits) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the steps of all outputs with their parameters take more than %zu bytes; ask for "
                "fewer steps or outputs",
                sizeof data->bytes);
}

static bool get(const struct plan_data *data, size_t *at, void *out, size_t length) {
    if (length > data->length - *at) return false;
    memcpy(out, data->bytes + *at, length);
    *at += length;
    return true;
}

static bool get_number(const struct plan_data *data, size_t *at, long *number) {
    uint64_t bits = 0;
    uint8_t byte = 128;
    for (int shift = 0; byte & 128; shift += 7) {
        if (shift > 63 || !get(data, at, &byte, 1)) return false;
        bits |= (uint64_t)(byte & 127) << shift;
    }
    *number = (long)(bits >> 1 ^ (bits & 1 ? UINT64_MAX : 0));
    return true;
}

static bool get_step(const struct plan_data *data, size_t *at, const struct op *op, uint16_t given,
                     struct step *step) {
    const struct param *list = op->params;
    struct params *params = &step->params;
    step->op = op;
    params_init(params, list);
    params->given = given;
    for (int i = 0; list && list[i].type; i++, given >>= 1) {
        if (!(given & 1)) continue;
        long number;
        bool good = get_number(data, at, &number);
        if (!is_taps(&list[i])) {
            params->number[i] = number;
        } else {
            good = good && number >= 0 && number <= TAPS_MAX;
            params->tap_count = good ? (int32_t)number : 0;
            for (int t = 0; good && t < params->tap_count; t++) {
                good = get_number(data, at, &number) && number == (int32_t)number;
                params->taps[t] = (int32_t)number;
            }
        }
        if (!good || !params_is_valid(params, list, i)) return false;
    }
    return !given; /* a bit beyond the last parameter is damage */
}

/* Reads a part's steps and its PART_END; false if the data are damaged. */
static bool get_part(const struct plan_data *data, size_t *at, struct plan *plan) {
    const struct op_set *ops = plan->ops ? plan->ops : registry_set();
    struct record record;
    plan->count = 0;
    while (get(data, at, &record, sizeof record)) {
        if (record.op == PART_END) return true;
        const struct op *op = op_set_at(ops, record.op);
        if (!op || plan->count == PLAN_STEPS_MAX) return false;
        if (!get_step(data, at, op, record.given, &plan->steps[plan->count++])) return false;
    }
    return false;
}

enum status plan_tree_unpack(struct plan_tree *tree, const struct op_set *ops,
                             const struct plan_data *shared, struct failure *failure) {
    struct plan_data data; /* a worker may write to the slot meanwhile */
    size_t at = 0;
    memcpy(&data.length, &shared->length, sizeof data.length);
    bool good = data.length <= sizeof data.bytes;
    if (good) memcpy(data.bytes, shared->bytes, data.length);
    for (tree->count = 0; good && at < data.length; tree->count++) {
        good = tree->count < PLAN_PARTS_MAX;
        if (!good) break;
        tree->parts[tree->count].ops = ops;
        good = get_part(&data, &at, &tree->parts[tree->count]);
    }
    if (good && tree->count && !plan_tree_check(tree, NULL)) return STATUS_OK;
    return fail(failure, STATUS_INTERNAL, "the job's plan is damaged");
}

const struct step *plan_tree_step(const struct plan_tree *tree, uint32_t index) {
    for (int p = 0; p < tree->count; p++) {
        const uint32_t count = (uint32_t)tree->parts[p].count;
        if (index < count) return &tree->parts[p].steps[index];
        index -= count;
    }
    return NULL;
}

bool plan_tree_knows_size(const struct plan_tree *tree, int part, int s) {
    const bool trunk = !part || plan_knows_size(&tree->parts[0], PLAN_STEPS_MAX);
    return trunk && plan_knows_size(&tree->parts[part], s);
}

const char *plan_tree_unit(const struct plan_tree *tree) {
    const struct step *step;
    for (uint32_t i = 0; (step = plan_tree_step(tree, i)); i++)
        if (step->op->unit) return step->op->unit;
    return "steps";
}

int plan_tree_aux_part(const struct plan_tree *tree) {
    int first = -1;
    for (int p = tree->count - 1; p >= 0; p--)
        if (plan_needs_aux(&tree->parts[p]) ||
            (plan_aux_step(&tree->parts[p]) >= 0 &&
             (first < 0 || !plan_needs_aux(&tree->parts[first]))))
            first = p;
    return first;
}

enum status plan_tree_aux_complete(const struct plan_tree *tree, uint32_t given,
                                   struct failure *failure) {
    const bool branches_get = plan_tree_aux_part(tree) > 0;
    enum status status = STATUS_OK;
    for (int p = 0; !status && p < tree->count; p++) {
        const bool gets = (p > 0) == branches_get;
        status = plan_aux_complete(&tree->parts[p], gets ? given : 0, gets || !given, failure);
    }
    return status;
}

enum status plan_tree_refuse_aux(const struct plan_tree *tree, const char *name,
                                 struct failure *failure) {
    bool any = false;
    for (int p = 0; tree && p < tree->count; p++)
        for (int s = 0; s < tree->parts[p].count; s++)
            any |= op_aux_place(tree->parts[p].steps[s].op, name) >= 0;
    return fail(failure, STATUS_BAD_PARAM,
                any ? "the part %s goes to no step, since another step needs a further image: use "
                      "a request for each"
                    : "no step of this request uses a part named %s",
                name);
}

bool plan_tree_has_user_operators(const struct plan_tree *tree) {
    bool any = false;
    for (int p = 0; p < tree->count; p++) any |= plan_has_user_operators(&tree->parts[p]);
    return any;
}

enum status plan_tree_check_pixels(uint64_t pixels, uint64_t pixels_max, uint32_t count,
                                   bool frames, struct failure *failure) {
    char number[16] = "";
    if (pixels <= pixels_max) return STATUS_OK;
    if (count) snprintf(number, sizeof number, "%u ", count);
    return fail(failure, STATUS_TOO_LARGE,
                "the %s%s have %llu pixels together, more than the %llu of pixels_max; ask for %s",
                number, frames ? "frames of the result" : "results", (unsigned long long)pixels,
                (unsigned long long)pixels_max, frames ? "a smaller one" : "fewer or smaller ones");
}

/* ---- work that branches share */

static const struct op *first_op(const struct plan *plan) {
    return plan->count ? plan->steps[0].op : NULL;
}

/* The first operator whose branches can share work; NULL: there is none. */
static const struct op *sharing_op(const struct plan *const *branches, int count) {
    for (int b = 0; b < count; b++) {
        const struct op *op = first_op(branches[b]);
        if (op && op->common) return op;
    }
    return NULL;
}

void plan_common_find(struct plan_common *common, const struct plan *const *branches, int count,
                      const struct image *in, uint32_t aux) {
    const struct params *calls[PLAN_BRANCHES_MAX];
    *common = (struct plan_common){ .op = count > 1 ? sharing_op(branches, count) : NULL };
    if (!common->op) return;
    for (int b = 0; b < count; b++)
        calls[b] = first_op(branches[b]) == common->op ? &branches[b]->steps[0].params : NULL;
    const uint32_t served = common->op->common(calls, count, in, aux, &common->params);
    if (served && !common->op->size(&common->params, in, &common->image, NULL))
        common->branches = served;
}
