// SPDX-License-Identifier: Apache-2.0
/* How it works. The operator's own step is completed first: a resize gets its fit, a crop may
 * become a resize. Then it is taken off the plan and put back at its place among the steps that
 * other parameters require. */
#include "server/http/imaginary_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- the last step of a plan */

static bool is_on(const struct params *params, int index) {
    return is_given(params, index) && params->number[index];
}

static bool is_off(const struct params *params, int index) {
    return is_given(params, index) && !params->number[index];
}

static struct step *last(struct plan *plan) {
    return &plan->steps[plan->count - 1];
}

static int place_in(const struct step *step, const char *name) {
    for (int i = 0; step->op->params[i].name; i++)
        if (strcmp(step->op->params[i].name, name) == 0) return i;
    return -1;
}

static bool has(struct plan *plan, const char *name) {
    const int index = place_in(last(plan), name);
    return index >= 0 && is_given(&last(plan)->params, index);
}

static bool has_both(struct plan *plan) {
    return has(plan, "width") && has(plan, "height");
}

static enum status set_number(struct plan *plan, const char *name, long number,
                              struct failure *failure) {
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    return plan_set(plan, name, text, failure);
}

static long number_of(struct plan *plan, const char *name) {
    return last(plan)->params.number[place_in(last(plan), name)];
}

static enum status missing(const struct imaginary *imaginary, const char *what,
                           struct failure *failure) {
    return fail(failure, STATUS_BAD_PARAM, "%s: %s must be given", imaginary->row->name, what);
}

/* ---- the fit of a resize, by imaginary's parameters */

struct fit {
    const char *fit; /* NULL: no parameter of imaginary sets it */
    bool enlarge;
};

static bool is_turned(const struct imaginary *imaginary) {
    return imaginary->row->shape == SHAPE_ROTATE || imaginary->rest.number[REST_ROTATE];
}

/* Scaling beside another operation stretches, unless the image is also rotated. */
static struct fit fit_stretched(const struct imaginary *imaginary) {
    if (is_on(&imaginary->frame, FRAME_EMBED)) return (struct fit){ "contain", false };
    return is_turned(imaginary) ? (struct fit){ "inside", false } : (struct fit){ "fill", true };
}

static struct fit fit_covering(const struct params *frame) {
    if (!is_on(frame, FRAME_NOCROP)) return (struct fit){ "cover", true };
    return (struct fit){ is_on(frame, FRAME_EMBED) ? "contain" : "inside", true };
}

/* A plain resize keeps Burin's meaning, unless `whole`. */
static struct fit fit_resized(const struct imaginary *imaginary) {
    const struct params *frame = &imaginary->frame;
    if (is_off(frame, FRAME_NOCROP)) return (struct fit){ "cover", false };
    if (imaginary->whole && frame->number[FRAME_GRAVITY] == GRAVITY_SMART)
        return (struct fit){ "inside", false }; /* it looks for a part, and nothing is cut */
    if (imaginary->whole || is_on(frame, FRAME_NOCROP) || is_on(frame, FRAME_EMBED) ||
        is_given(frame, FRAME_EXTEND))
        return (struct fit){ "contain", false };
    return (struct fit){ NULL, true };
}

/* For an operation of SHAPE. */
static struct fit fit_of(const struct imaginary *imaginary, enum shape shape) {
    const bool force = is_on(&imaginary->frame, FRAME_FORCE);
    if (shape == SHAPE_INSIDE) return (struct fit){ "inside", force };
    if (force) return (struct fit){ "fill", true };
    switch (shape) {
    case SHAPE_COVER: return fit_covering(&imaginary->frame);
    case SHAPE_RESIZE: return fit_resized(imaginary);
    case SHAPE_STRETCH: return fit_stretched(imaginary);
    default: return (struct fit){ "cover", false };
    }
}

/* Sets NAME, which the request must not have set itself. */
static enum status choose(struct plan *plan, const char *name, const char *value,
                          struct failure *failure) {
    if (has(plan, name))
        return fail(failure, STATUS_BAD_PARAM,
                    "%s: %s follows from imaginary's parameters; leave it out, or them",
                    last(plan)->op->name, name);
    return plan_set(plan, name, value, failure);
}

/* The background around a contained image; by default its edge goes on. */
static enum status set_extend(const struct imaginary *imaginary, struct plan *plan,
                              const struct encode_options *encode, struct failure *failure) {
    const long extend = imaginary->frame.number[FRAME_EXTEND];
    if (!is_given(&imaginary->frame, FRAME_EXTEND) && has(plan, "around")) return STATUS_OK;
    if (extend < EXTEND_WHITE)
        return choose(plan, "around", extend == EXTEND_MIRROR ? "mirror" : "edge", failure);
    if (extend == EXTEND_BACKGROUND &&
        (encode->has_background || has(plan, "background") || *imaginary->background))
        return STATUS_OK;
    return choose(plan, "background", extend == EXTEND_WHITE ? "ffffff" : "000000", failure);
}

static enum status set_gravity(const struct imaginary *imaginary, struct plan *plan,
                               struct failure *failure) {
    const struct params *frame = &imaginary->frame;
    if (imaginary->smart) return choose(plan, "position", "smart", failure);
    if (!is_given(frame, FRAME_GRAVITY)) return STATUS_OK;
    return choose(plan, "position",
                  imaginary_frame[FRAME_GRAVITY].choices[frame->number[FRAME_GRAVITY]], failure);
}

/* Applies FIT to the last step, a resize with its sides set. */
static enum status fit_set(const struct imaginary *imaginary, struct plan *plan, struct fit fit,
                           const struct encode_options *encode, struct failure *failure) {
    enum status status = STATUS_OK;
    if (!fit.fit || strcmp(fit.fit, "cover") == 0) status = set_gravity(imaginary, plan, failure);
    if (!status && fit.fit) status = choose(plan, "fit", fit.fit, failure);
    if (!status && !fit.enlarge && !has(plan, "enlarge"))
        status = plan_set(plan, "enlarge", "false", failure);
    if (!status && fit.fit && strcmp(fit.fit, "contain") == 0 && has_both(plan))
        status = set_extend(imaginary, plan, encode, failure);
    if (!status && *imaginary->background && !has(plan, "background"))
        status = plan_set(plan, "background", imaginary->background, failure);
    return status;
}

/* ---- an operation's own step */

/* Replaces the last step by OP, with the same sides. */
static enum status become(struct plan *plan, const char *op, struct failure *failure) {
    static const char *const sides[] = { "width", "height" };
    const struct step before = plan->steps[--plan->count];
    enum status status = plan_add(plan, op, failure);
    for (int i = 0; i < 2 && !status; i++) {
        const int index = place_in(&before, sides[i]);
        if (is_given(&before.params, index))
            status = set_number(plan, sides[i], before.params.number[index], failure);
    }
    return status;
}

/* With one side imaginary cuts; with both it scales first. */
static enum status finish_crop(const struct imaginary *imaginary, struct plan *plan,
                               const struct encode_options *encode, struct failure *failure) {
    const bool force = is_on(&imaginary->frame, FRAME_FORCE);
    if (!imaginary->whole && !imaginary->smart && !force) return STATUS_OK;
    struct imaginary scaled = *imaginary;
    enum status status = STATUS_OK;
    scaled.smart |= imaginary->row->shape == SHAPE_SMARTCROP;
    if (!has(plan, "width") && !has(plan, "height"))
        return missing(imaginary, "width or height", failure);
    if (!has_both(plan) && !force)
        return scaled.smart ? become(plan, "smartcrop", failure) : STATUS_OK;
    if (imaginary->row->shape == SHAPE_CROP && has(plan, "gravity")) {
        const struct step *step = last(plan);
        const int index = place_in(step, "gravity");
        const char *gravity = step->op->params[index].choices[step->params.number[index]];
        status = become(plan, "resize", failure);
        if (!status && !force) status = plan_set(plan, "position", gravity, failure);
    } else {
        status = become(plan, "resize", failure);
    }
    return status ? status : fit_set(&scaled, plan, fit_of(&scaled, SHAPE_CROP), encode, failure);
}

static enum status finish_resize(const struct imaginary *imaginary, struct plan *plan,
                                 const struct encode_options *encode, struct failure *failure) {
    const enum shape shape = imaginary->row->shape;
    const struct fit fit = fit_of(imaginary, shape);
    if ((shape == SHAPE_INSIDE || shape == SHAPE_COVER) && !has_both(plan))
        return missing(imaginary, "width and height", failure);
    if (shape == SHAPE_RESIZE && is_off(&imaginary->frame, FRAME_NOCROP) && !has_both(plan) &&
        strcmp(fit.fit, "cover") == 0) {
        const long gravity = imaginary->frame.number[FRAME_GRAVITY];
        const char *side = imaginary_frame[FRAME_GRAVITY].choices[gravity];
        if (strcmp(side, "smart") == 0) return become(plan, "smartcrop", failure);
        const enum status status = become(plan, "crop", failure);
        return status ? status : plan_set(plan, "gravity", side, failure);
    }
    return fit_set(imaginary, plan, fit, encode, failure);
}

static enum status finish_extract(const struct imaginary *imaginary, struct plan *plan,
                                  struct failure *failure) {
    const struct params *frame = &imaginary->frame;
    if (!frame->number[FRAME_AREAWIDTH] && !frame->number[FRAME_AREAHEIGHT] && !imaginary->whole)
        return STATUS_OK;
    if (!frame->number[FRAME_AREAWIDTH] || !frame->number[FRAME_AREAHEIGHT])
        return missing(imaginary, "areawidth and areaheight", failure);
    if (has(plan, "width") || has(plan, "height"))
        return fail(failure, STATUS_BAD_PARAM,
                    "extract: areawidth and areaheight set the part, and so do width and height; "
                    "leave one pair out, or scale before, in a step of /pipeline");
    const enum status status = set_number(plan, "width", frame->number[FRAME_AREAWIDTH], failure);
    return status ? status : set_number(plan, "height", frame->number[FRAME_AREAHEIGHT], failure);
}

/* Factor 1 doubles. */
static enum status finish_zoom(const struct imaginary *imaginary, struct plan *plan,
                               struct failure *failure) {
    const struct params *frame = &imaginary->frame;
    if (is_given(frame, FRAME_FACTOR))
        return set_number(plan, "times", frame->number[FRAME_FACTOR] + 1, failure);
    return imaginary->whole ? missing(imaginary, "factor", failure) : STATUS_OK;
}

static enum status finish_rotate(const struct imaginary *imaginary, struct plan *plan,
                                 struct failure *failure) {
    const struct params *rest = &imaginary->rest;
    if (is_given(rest, REST_ROTATE))
        return plan_set(plan, "angle",
                        imaginary_rest[REST_ROTATE].choices[rest->number[REST_ROTATE]], failure);
    return imaginary->whole ? missing(imaginary, "rotate", failure) : STATUS_OK;
}

/* An opacity of 0 is all of it for imaginary. */
static enum status finish_watermark(const struct imaginary *imaginary, struct plan *plan,
                                    struct failure *failure) {
    const long *number = imaginary->frame.number;
    enum status status =
        has(plan, "position") ? STATUS_OK : plan_set(plan, "position", "northwest", failure);
    if (!status && number[FRAME_LEFT]) status = set_number(plan, "x", number[FRAME_LEFT], failure);
    if (!status && number[FRAME_TOP]) status = set_number(plan, "y", number[FRAME_TOP], failure);
    struct step *step = last(plan);
    const int opacity = place_in(step, "opacity");
    if (imaginary->whole && !step->params.number[opacity])
        step->params.number[opacity] = step->op->params[opacity].def;
    return status;
}

static enum status finish(const struct imaginary *imaginary, struct plan *plan,
                          const struct encode_options *encode, struct failure *failure) {
    switch (imaginary->row->shape) {
    case SHAPE_INSIDE:
    case SHAPE_COVER:
    case SHAPE_STRETCH:
    case SHAPE_RESIZE: return finish_resize(imaginary, plan, encode, failure);
    case SHAPE_CROP:
    case SHAPE_SMARTCROP: return finish_crop(imaginary, plan, encode, failure);
    case SHAPE_EXTRACT: return finish_extract(imaginary, plan, failure);
    case SHAPE_ZOOM: return finish_zoom(imaginary, plan, failure);
    case SHAPE_ROTATE: return finish_rotate(imaginary, plan, failure);
    case SHAPE_WATERMARK: return finish_watermark(imaginary, plan, failure);
    case SHAPE_BLUR:
        return imaginary->whole && !has(plan, "sigma") ? missing(imaginary, "sigma", failure)
                                                       : STATUS_OK;
    case SHAPE_CONVERT:
        return imaginary->has_type ? STATUS_OK : missing(imaginary, "type", failure);
    case SHAPE_SET: return STATUS_OK;
    }
    return STATUS_OK;
}

/* ---- steps around it */

static enum status add_with(struct plan *plan, const char *op, const char *name, const char *value,
                            struct failure *failure) {
    const enum status status = plan_add(plan, op, failure);
    return status ? status : plan_set(plan, name, value, failure);
}

static enum status add_scale(const struct imaginary *imaginary, struct plan *plan,
                             const struct encode_options *encode, struct failure *failure) {
    static const char *const sides[] = { "width", "height" };
    const long *number = imaginary->frame.number;
    if (!number[FRAME_WIDTH] && !number[FRAME_HEIGHT]) return STATUS_OK;
    enum status status = plan_add(plan, "resize", failure);
    for (int i = 0; i < 2 && !status; i++)
        if (number[FRAME_WIDTH + i])
            status = set_number(plan, sides[i], number[FRAME_WIDTH + i], failure);
    return status ? status
                  : fit_set(imaginary, plan, fit_of(imaginary, SHAPE_STRETCH), encode, failure);
}

/* Without a corner imaginary cuts no part out of the zoomed image, even if an area is given. */
static enum status add_cut(const struct imaginary *imaginary, struct plan *plan,
                           struct failure *failure) {
    static const struct {
        int from;
        const char *to;
    } sides[] = { { FRAME_LEFT, "left" },
                  { FRAME_TOP, "top" },
                  { FRAME_AREAWIDTH, "width" },
                  { FRAME_AREAHEIGHT, "height" } };
    const long *number = imaginary->frame.number;
    const bool corner = number[FRAME_TOP] || number[FRAME_LEFT];
    if (!(imaginary->row->takes & TAKES_CORNER)) return STATUS_OK;
    if (!corner && !number[FRAME_AREAWIDTH] && !number[FRAME_AREAHEIGHT]) return STATUS_OK;
    if (!corner || !number[FRAME_AREAWIDTH] || !number[FRAME_AREAHEIGHT])
        return missing(imaginary, "top or left, areawidth and areaheight, all or none of them,",
                       failure);
    if (is_off(&imaginary->frame, FRAME_NOCROP))
        return fail(failure, STATUS_BAD_PARAM,
                    "%s: nocrop=false takes the middle in place of the area; leave one out",
                    imaginary->row->name);
    enum status status = plan_add(plan, "extract", failure);
    for (int i = 0; i < 4 && !status; i++)
        status = set_number(plan, sides[i].to, number[sides[i].from], failure);
    return status;
}

static enum status add_at(enum place place, const struct imaginary *imaginary, struct plan *plan,
                          const struct encode_options *encode, struct failure *failure) {
    const long *number = imaginary->rest.number;
    char text[DECIMAL_TEXT_MAX];
    if (place == PLACE_ROTATE && number[REST_ROTATE])
        return add_with(plan, "rotate", "angle",
                        imaginary_rest[REST_ROTATE].choices[number[REST_ROTATE]], failure);
    if (place == PLACE_FLIP && number[REST_FLIP]) return plan_add(plan, "flip", failure);
    if (place == PLACE_FLOP && number[REST_FLOP]) return plan_add(plan, "flop", failure);
    if (place == PLACE_SCALE) return add_scale(imaginary, plan, encode, failure);
    if (place == PLACE_CUT) return add_cut(imaginary, plan, failure);
    if (place == PLACE_BLUR && number[REST_SIGMA])
        return add_with(plan, "blur", "sigma", param_decimal_print(number[REST_SIGMA], text),
                        failure);
    if (place == PLACE_GRAY && number[REST_COLORSPACE]) return plan_add(plan, "grayscale", failure);
    return STATUS_OK;
}

/* Appends STEP, which was taken off the plan. */
static enum status put_back(struct plan *plan, const struct step *step, struct failure *failure) {
    const enum status status = plan_add(plan, step->op->name, failure);
    if (!status) *last(plan) = *step;
    return status;
}

static enum status add_all(const struct imaginary *imaginary, struct plan *plan,
                           const struct encode_options *encode, struct failure *failure) {
    const bool own = imaginary->row->op;
    struct step step = { 0 };
    enum status status = STATUS_OK;
    if (own) step = plan->steps[--plan->count];
    for (int place = 0; place < PLACES && !status; place++)
        status = own && place == (int)imaginary->row->place
                     ? put_back(plan, &step, failure)
                     : add_at((enum place)place, imaginary, plan, encode, failure);
    return status;
}

/* ---- all of it */

/* Parameters of which only the default is accepted; under IMAGINARY_PATH they do nothing, and
 * whether norotation is harmless the image's header decides. */
static enum status check_refused(const struct imaginary *imaginary, struct failure *failure) {
    static const char *const reasons[REST_PARAMS] = {
        [REST_NOROTATION] = "the image is always rotated as its EXIF says: leave norotation out",
        [REST_MINAMPL] = "the blur is exact and needs no minampl: give sigma alone",
    };
    for (int i = REST_REFUSED; i < REST_PARAMS; i++) {
        if (imaginary->rest.number[i] == imaginary_rest[i].def ||
            (i == REST_NOROTATION && imaginary->upright))
            continue;
        if (!imaginary->whole)
            return fail(failure, STATUS_BAD_PARAM, "%s: %s", imaginary->row->name, reasons[i]);
        if (i == REST_NOROTATION)
            *imaginary->as_stored = true;
        else
            imaginary_ignore(imaginary, imaginary_rest[i].name);
    }
    return STATUS_OK;
}

/* Computes the missing side in integers, as imaginary does. */
static void apply_ratio(const struct imaginary *imaginary, long *width, long *height) {
    const long *ratio = imaginary->ratio;
    if (!ratio[0] || !*width == !*height) return;
    if (*width)
        *height = *width / ratio[0] * ratio[1];
    else
        *width = *height / ratio[1] * ratio[0];
}

static enum status complete_sides(struct imaginary *imaginary, struct plan *plan,
                                  struct failure *failure) {
    long *number = imaginary->frame.number;
    if (!imaginary->ratio[0]) return STATUS_OK;
    if (imaginary->row->takes & TAKES_SIZE) {
        apply_ratio(imaginary, &number[FRAME_WIDTH], &number[FRAME_HEIGHT]);
        return STATUS_OK;
    }
    if (last(plan)->params.percent)
        return fail(failure, STATUS_BAD_PARAM, "%s: aspectratio goes with a side in pixels",
                    imaginary->row->name);
    long width = has(plan, "width") ? number_of(plan, "width") : 0;
    long height = has(plan, "height") ? number_of(plan, "height") : 0;
    enum status status = STATUS_OK;
    apply_ratio(imaginary, &width, &height);
    if (width && !has(plan, "width")) status = set_number(plan, "width", width, failure);
    if (!status && height && !has(plan, "height"))
        status = set_number(plan, "height", height, failure);
    return status;
}

enum status imaginary_complete(struct imaginary *imaginary, struct plan *plan,
                               const struct encode_options *encode, struct failure *failure) {
    if (!imaginary->row) return STATUS_OK;
    enum status status = check_refused(imaginary, failure);
    if (!status) status = complete_sides(imaginary, plan, failure);
    if (!status) status = finish(imaginary, plan, encode, failure);
    return status ? status : add_all(imaginary, plan, encode, failure);
}
