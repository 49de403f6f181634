// SPDX-License-Identifier: Apache-2.0
/* How it works. Parsing copies the text, cuts the copy in place at ';', ':', ',' and '=', and sets
 * each parameter as it goes; a comma before a number belongs to a list of taps. plan_shapes
 * computes every step's shape before any memory is taken, so every limit is checked at the start.
 */
#include "pipeline/plan.h"

#include "pipeline/op_alias.h"
#include "pipeline/registry.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct op_set *ops_of(const struct plan *plan) {
    return plan->ops ? plan->ops : registry_set();
}

static enum status unknown_op(const struct op_set *ops, const char *name, struct failure *failure) {
    char shown[PARAM_SHOWN_MAX], all[256];
    const char *instead = op_alias(name);
    param_shown(name, shown);
    if (instead)
        return fail(failure, STATUS_BAD_PARAM, "there is no operator \"%s\"; %s", shown, instead);
    const char *near = op_set_nearest(ops, name);
    if (near)
        return fail(failure, STATUS_BAD_PARAM, "there is no operator \"%s\"; did you mean \"%s\"?",
                    shown, near);
    size_t used = 0;
    all[0] = '\0';
    for (int i = 0; i < op_set_count(ops) && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "",
                                 op_set_at(ops, i)->name);
    return fail(failure, STATUS_BAD_PARAM, "there is no operator \"%s\"; there are %s", shown, all);
}

enum status plan_add(struct plan *plan, const char *op, struct failure *failure) {
    const struct op *found = op_set_find(ops_of(plan), op);
    if (!found) return unknown_op(ops_of(plan), op, failure);
    if (plan->count >= PLAN_STEPS_MAX)
        return fail(failure, STATUS_BAD_PARAM, "a pipeline takes at most %d steps", PLAN_STEPS_MAX);
    struct step *step = &plan->steps[plan->count++];
    step->op = found;
    params_init(&step->params, found->params);
    return STATUS_OK;
}

enum status plan_set(struct plan *plan, const char *name, const char *value,
                     struct failure *failure) {
    if (!plan->count)
        return fail(failure, STATUS_BAD_PARAM, "a parameter comes before any operator");
    struct step *step = &plan->steps[plan->count - 1];
    return params_set(&step->params, step->op->params, step->op->name, name, value, failure);
}

/* The index of NAME in LIST; -1: not found. */
static int place_of(const struct param *list, const char *name) {
    for (int i = 0; list && list[i].type != PARAM_NONE; i++)
        if (strcmp(list[i].name, name) == 0) return i;
    return -1;
}

bool plan_takes(const struct plan *plan, const char *name) {
    return plan->count && place_of(plan->steps[plan->count - 1].op->params, name) >= 0;
}

enum status plan_give(struct plan *plan, const char *name, const char *value,
                      struct failure *failure) {
    enum status status = STATUS_OK;
    for (int s = 0; s < plan->count && !status; s++) {
        struct step *step = &plan->steps[s];
        const int place = place_of(step->op->params, name);
        if (place >= 0 && !(step->params.given >> place & 1))
            status =
                params_set(&step->params, step->op->params, step->op->name, name, value, failure);
    }
    return status;
}

int plan_aux_step(const struct plan *plan) {
    int first = -1;
    for (int s = plan->count - 1; s >= 0; s--) {
        const struct op_aux *aux = plan->steps[s].op->aux;
        const bool needs = first >= 0 && plan->steps[first].op->aux[0].kind == AUX_PICTURE;
        if (aux[0].name && (aux[0].kind == AUX_PICTURE || !needs)) first = s;
    }
    return first;
}

int op_aux_place(const struct op *op, const char *name) {
    for (int i = 0; i < OP_AUX_MAX && op->aux[i].name; i++)
        if (strcmp(op->aux[i].name, name) == 0) return i;
    return -1;
}

int plan_aux(const struct plan *plan, const char *name) {
    const int step = plan_aux_step(plan);
    return step < 0 ? -1 : op_aux_place(plan->steps[step].op, name);
}

const struct op_aux *plan_aux_at(const struct plan *plan, int place) {
    return &plan->steps[plan_aux_step(plan)].op->aux[place];
}

bool plan_needs_aux(const struct plan *plan) {
    return plan_aux_step(plan) >= 0 && plan_aux_at(plan, 0)->kind == AUX_PICTURE;
}

bool plan_leaves_aux(const struct plan *trunk, const struct plan *branch) {
    return plan_aux_step(trunk) < 0 || (plan_needs_aux(branch) && !plan_needs_aux(trunk));
}

bool plan_aux_is_for(const struct plan *plan, int place, const struct image *aux) {
    if (plan_aux_step(plan) < 0) return false;
    const struct op_aux *wanted = plan_aux_at(plan, place);
    return wanted->name && aux->width && aux->channels == (wanted->kind == AUX_PICTURE ? 4 : 1);
}

enum status plan_aux_complete(const struct plan *plan, uint32_t given, bool gets,
                              struct failure *failure) {
    const int step = plan_aux_step(plan);
    for (int s = 0; s < plan->count; s++) {
        const struct op *op = plan->steps[s].op;
        if (!op->aux[0].name || op->aux[0].kind != AUX_PICTURE || (s == step && (given & 1)))
            continue;
        if (s == step && gets)
            return fail(failure, STATUS_BAD_PARAM,
                        "%s needs a further image: send it as the part %s, or with --%s FILE",
                        op->name, op->aux[0].name, op->aux[0].name);
        return fail(failure, STATUS_BAD_PARAM,
                    "only one step of a request gets the part %s: use a request for each",
                    op->aux[0].name);
    }
    return STATUS_OK;
}

enum status plan_complete(const struct plan *plan, struct failure *failure) {
    for (int i = 0; i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        enum status status =
            params_complete(&step->params, step->op->params, step->op->name, failure);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

/* The end of the setting at TEXT: the next comma that no number follows, since taps have commas
 * between them; or the end of the text. */
static char *setting_end(char *text) {
    for (char *comma = text; (comma = strchr(comma, ',')); comma++) {
        const char *next = comma + 1 + strspn(comma + 1, " ");
        if (!isdigit((unsigned char)*next) && *next != '-' && *next != '+') return comma;
    }
    return text + strlen(text);
}

/* Sets width and height from "300x200", one of which may be missing, or both from "50%". */
static enum status set_sides(struct plan *plan, const char *text, struct failure *failure) {
    const size_t length = strcspn(text, "x");
    const char *height = text[length] ? text + length + 1 : text;
    char width[32];
    enum status status = STATUS_OK;
    if (length >= sizeof width) return fail(failure, STATUS_BAD_PARAM, "the size is too long");
    memcpy(width, text, length);
    width[length] = '\0';
    if (*width) status = plan_set(plan, "width", width, failure);
    if (!status && *height) status = plan_set(plan, "height", height, failure);
    return status;
}

/* TEXT has no name. */
static enum status set_unnamed(struct plan *plan, const char *text, struct failure *failure) {
    const struct op *op = plan->steps[plan->count - 1].op;
    const struct param *first = op->params;
    const size_t digits = strspn(text, "0123456789.%x"), length = strlen(text);
    const bool size = length > 1 && digits == length && (strchr(text, 'x') || strchr(text, '%'));
    if (size && plan_takes(plan, "width") && plan_takes(plan, "height"))
        return set_sides(plan, text, failure);
    if (first && first->name && (isdigit((unsigned char)*text) || *text == '-' || *text == '+'))
        return plan_set(plan, first->name, text, failure);
    char shown[PARAM_SHOWN_MAX];
    return fail(failure, STATUS_BAD_PARAM, "%s: \"%s\" should be name=value", op->name,
                param_shown(text, shown));
}

/* SETTINGS is "name=value,name=value"; cuts it in place. */
static enum status parse_settings(struct plan *plan, char *settings, struct failure *failure) {
    for (char *text = settings; text;) {
        char *end = setting_end(text);
        char *next = *end ? end + 1 : NULL;
        *end = '\0';
        char *equals = strchr(text, '=');
        enum status status;
        if (text == settings && !equals) {
            status = set_unnamed(plan, text, failure);
        } else if (!equals || equals == text) {
            char shown[PARAM_SHOWN_MAX];
            status = fail(failure, STATUS_BAD_PARAM, "%s: \"%s\" should be name=value",
                          plan->steps[plan->count - 1].op->name, param_shown(text, shown));
        } else {
            *equals = '\0';
            status = plan_set(plan, text, equals + 1, failure);
        }
        if (status != STATUS_OK) return status;
        text = next;
    }
    return STATUS_OK;
}

static enum status parse_step(struct plan *plan, char *text, struct failure *failure) {
    char *colon = strchr(text, ':');
    if (colon) *colon = '\0';
    if (!*text)
        return fail(failure, STATUS_BAD_PARAM, "step %d of the pipeline names no operator",
                    plan->count + 1);
    enum status status = plan_add(plan, text, failure);
    if (status != STATUS_OK || !colon) return status;
    return parse_settings(plan, colon + 1, failure);
}

enum status plan_parse(struct plan *plan, const char *text, struct failure *failure) {
    return plan_parse_of(plan, NULL, text, failure);
}

enum status plan_parse_of(struct plan *plan, const struct op_set *ops, const char *text,
                          struct failure *failure) {
    char copy[PLAN_TEXT_MAX];
    plan->ops = ops;
    plan->count = 0;
    size_t length = strnlen(text, sizeof copy);
    if (length == sizeof copy)
        return fail(failure, STATUS_BAD_PARAM, "a pipeline's text takes at most %d characters",
                    PLAN_TEXT_MAX - 1);
    memcpy(copy, text, length + 1);
    for (char *step = length ? copy : NULL; step;) {
        char *end = strchr(step, ';');
        if (end) *end++ = '\0';
        enum status status = parse_step(plan, step, failure);
        if (status != STATUS_OK) return status;
        step = end;
    }
    return plan_complete(plan, failure);
}

/* Appends PIECE to TEXT; false if it does not fit. */
static bool put(char *text, size_t size, size_t *used, const char *piece) {
    size_t length = strlen(piece);
    if (length >= size - *used) return false;
    memcpy(text + *used, piece, length + 1);
    *used += length;
    return true;
}

static bool put_step(const struct step *step, char *text, size_t size, size_t *used) {
    if (!put(text, size, used, step->op->name)) return false;
    const struct param *list = step->op->params;
    const char *before = ":";
    for (int i = 0; list && list[i].type != PARAM_NONE; i++) {
        const struct param *param = &list[i];
        bool taps = param_is_list(param->type), percent = step->params.percent >> i & 1;
        if (percent ? false
            : taps  ? !step->params.tap_count
                    : step->params.number[i] == param->def && !param->required)
            continue;
        char value[TAPS_MAX * 12];
        param_print(param, &step->params, i, value, sizeof value);
        if (!put(text, size, used, before) || !put(text, size, used, param->name) ||
            !put(text, size, used, "=") || !put(text, size, used, value))
            return false;
        before = ",";
    }
    return true;
}

enum status plan_print(const struct plan *plan, char *text, size_t size, struct failure *failure) {
    size_t used = 0;
    if (!size) return fail(failure, STATUS_BAD_PARAM, "no room for the pipeline's text");
    text[0] = '\0';
    for (int i = 0; i < plan->count; i++)
        if ((i && !put(text, size, &used, ";")) || !put_step(&plan->steps[i], text, size, &used))
            return fail(failure, STATUS_BAD_PARAM,
                        "the pipeline's text is longer than %zu characters", size - 1);
    return STATUS_OK;
}

static enum status check_shape(const struct image *shape, const char *what, uint64_t pixels_max,
                               struct failure *failure) {
    if (shape->width > IMAGE_SIDE_MAX || shape->height > IMAGE_SIDE_MAX)
        return fail(failure, STATUS_TOO_LARGE, "%s: %u x %u; a side is at most %d pixels", what,
                    shape->width, shape->height, IMAGE_SIDE_MAX);
    if (image_pixels(shape) > pixels_max)
        return fail(failure, STATUS_TOO_LARGE,
                    "%s: width %u x height %u is %llu pixels, more than the %llu of pixels_max",
                    what, shape->width, shape->height, (unsigned long long)image_pixels(shape),
                    (unsigned long long)pixels_max);
    return STATUS_OK;
}

static enum status check_depth(const struct op *op, const struct image *in,
                               struct failure *failure) {
    if (!op->depth || op->depth == in->depth) return STATUS_OK;
    return fail(failure, STATUS_MISMATCH,
                "%s takes images of %u bits a sample, and this one has %u bits a sample; put the "
                "step depth with bits=%u before it",
                op->name, op->depth, in->depth, op->depth);
}

struct values_shape plan_step_values(const struct plan *plan, int s, const struct image *shapes) {
    const struct step *step = &plan->steps[s];
    const struct op *op = step->op->finder ? step->op->finder : step->op;
    if (!op->values) return (struct values_shape){ .type = VALUE_NONE };
    return op->values(op, &step->params, &shapes[s]);
}

int plan_finder_step(const struct plan *plan, int s) {
    while (s < plan->count && !plan->steps[s].op->finder) s++;
    return s < plan->count ? s : -1;
}

bool plan_knows_size(const struct plan *plan, int s) {
    const int finder = plan_finder_step(plan, 0);
    return finder < 0 || finder >= s;
}

void plan_find(struct plan *finding, const struct plan *plan, int s) {
    *finding = *plan;
    finding->count = s + 1;
    finding->steps[s].op = plan->steps[s].op->finder;
}

uint64_t plan_value_count(const struct plan *plan, const struct image *shapes) {
    uint64_t count = 0;
    for (int s = 0; s < plan->count; s++) {
        const struct values_shape shape = plan_step_values(plan, s, shapes);
        count += values_results(&shape);
    }
    return count;
}

bool plan_reports(const struct plan *plan) {
    bool any = false;
    for (int s = 0; s < plan->count; s++) any |= plan->steps[s].op->values != NULL;
    return any;
}

bool plan_only_reports(const struct plan *plan) {
    for (int s = 0; s < plan->count; s++)
        if (!plan->steps[s].op->values) return false;
    return plan->count > 0;
}

bool plan_assumes_srgb(const struct plan *plan) {
    bool any = false;
    for (int s = 0; s < plan->count && !plan->steps[s].op->by_profile; s++) {
        const struct step *step = &plan->steps[s];
        any |= step->op->assumes_srgb && step->op->assumes_srgb(&step->params);
    }
    return any;
}

bool plan_converts(const struct plan *plan) {
    bool any = false;
    for (int s = 0; s < plan->count; s++) any |= plan->steps[s].op->by_profile;
    return any;
}

enum status plan_begin_with(struct plan *plan, const char *op, struct failure *failure) {
    if (plan->count && strcmp(plan->steps[0].op->name, op) == 0) return STATUS_OK;
    const enum status status = plan_add(plan, op, failure);
    if (status) return status;
    const struct step first = plan->steps[plan->count - 1];
    memmove(plan->steps + 1, plan->steps, sizeof first * (size_t)(plan->count - 1));
    plan->steps[0] = first;
    return STATUS_OK;
}

enum status plan_check_widths(const struct plan *plan, struct failure *failure) {
    const struct step *step = plan->count ? &plan->steps[plan->count - 1] : NULL;
    if (!step || !step->op->widths)
        return fail(failure, STATUS_BAD_PARAM,
                    "widths goes with an operator whose width may be a list: resize or carve");
    for (int i = 0; step->op->params[i].name; i++) {
        const struct param *param = &step->op->params[i];
        const char *other = step->op->not_with_widths;
        if ((step->params.given >> i & 1) && strcmp(param->name, "width") == 0)
            return fail(failure, STATUS_BAD_PARAM,
                        "width and widths exclude each other: put the width into widths");
        if (other && strcmp(param->name, other) == 0 && step->params.number[i] != param->def)
            return fail(failure, STATUS_BAD_PARAM, "widths does not go with this %s of %s", other,
                        step->op->name);
    }
    return STATUS_OK;
}

static bool step_is_same(const struct step *a, const struct step *b) {
    return a->op == b->op && a->params.percent == b->params.percent &&
           a->params.tap_count == b->params.tap_count &&
           memcmp(a->params.number, b->params.number, sizeof a->params.number) == 0 &&
           memcmp(a->params.taps, b->params.taps,
                  (size_t)a->params.tap_count * sizeof *a->params.taps) == 0;
}

bool plan_is_same(const struct plan *a, const struct plan *b) {
    bool same = a->count == b->count;
    for (int s = 0; same && s < a->count; s++) same = step_is_same(&a->steps[s], &b->steps[s]);
    return same;
}

bool plan_has_user_operators(const struct plan *plan) {
    bool any = false;
    for (int s = 0; s < plan->count; s++) any |= op_set_is_added(ops_of(plan), plan->steps[s].op);
    return any;
}

enum status plan_refuse_later(const struct op *op, struct failure *failure) {
    return fail(failure, STATUS_BAD_PARAM,
                "%s converts the image as it comes: it can only be the first step of all",
                op->name);
}

/* The result of STEP, which cuts CUT off, for FROM; no limits are checked. */
static enum status step_shape(const struct step *step, const struct image *from,
                              const struct cut *cut, struct image *to, struct failure *failure) {
    *to = step->op->values ? *from : cut_shape(from, cut);
    return step->op->size ? step->op->size(&step->params, from, to, failure) : STATUS_OK;
}

enum status plan_shapes(const struct plan *plan, const struct image *in, uint64_t pixels_max,
                        struct image *shapes, struct failure *failure) {
    static const struct cut none[PLAN_STEPS_MAX];
    return plan_shapes_cut(plan, in, pixels_max, none, shapes, failure);
}

enum status plan_shapes_cut(const struct plan *plan, const struct image *in, uint64_t pixels_max,
                            const struct cut *cuts, struct image *shapes, struct failure *failure) {
    shapes[0] = *in;
    enum status status = check_shape(in, "the image", pixels_max, failure);
    for (int i = 0; i < plan->count && status == STATUS_OK; i++) {
        const struct step *step = &plan->steps[i];
        status = check_depth(step->op, &shapes[i], failure);
        if (!status && i && step->op->by_profile) status = plan_refuse_later(step->op, failure);
        if (!status) status = step_shape(step, &shapes[i], &cuts[i], &shapes[i + 1], failure);
        if (!status) status = check_shape(&shapes[i + 1], step->op->name, pixels_max, failure);
    }
    if (status) return status;
    const uint64_t count = plan_value_count(plan, shapes);
    if (count <= PLAN_VALUES_MAX) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the steps report %llu values of this image, more than the %d of one request; ask "
                "for fewer bins or steps",
                (unsigned long long)count, PLAN_VALUES_MAX);
}

enum status plan_settle(struct plan *plan, const struct image *in, bool known, uint64_t pixels_max,
                        struct image *shapes, struct failure *failure) {
    static const struct cut none;
    enum status status = STATUS_OK;
    uint32_t percent = 0;
    shapes[0] = *in;
    for (int i = 0; i < plan->count; i++) percent |= plan->steps[i].params.percent;
    for (int i = 0; percent && i < plan->count && !status; i++) {
        struct step *step = &plan->steps[i];
        const struct image *from = &shapes[i];
        if (from->width > IMAGE_SIDE_MAX || from->height > IMAGE_SIDE_MAX) break; /* see below */
        if (step->params.percent && !(known && plan_knows_size(plan, i)))
            return fail(failure, STATUS_BAD_PARAM,
                        "%s: only the run shows what a step before cuts off, so it takes no "
                        "percentages; give pixels",
                        step->op->name);
        status = params_settle(&step->params, step->op->params, step->op->name, from->width,
                               from->height, failure);
        if (!status && i + 1 < plan->count)
            status = step_shape(step, from, &none, &shapes[i + 1], failure);
    }
    return status ? status : plan_shapes(plan, in, pixels_max, shapes, failure);
}

enum status plan_aux_fits(const struct plan *plan, const char *name, const struct image *aux,
                          const struct image *shapes, struct failure *failure) {
    const int step = plan_aux_step(plan);
    const struct image *image = &shapes[step];
    if (plan_aux_at(plan, plan_aux(plan, name))->kind == AUX_PICTURE) return STATUS_OK;
    if (aux->width == image->width && aux->height == image->height) return STATUS_OK;
    return fail(failure, STATUS_MISMATCH,
                "%s is %u x %u pixels, but the image that %s gets is %u x %u; they must be the "
                "same size",
                name, aux->width, aux->height, plan->steps[step].op->name, image->width,
                image->height);
}
