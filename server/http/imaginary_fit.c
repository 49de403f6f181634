// SPDX-License-Identifier: Apache-2.0
#include "server/http/imaginary_fit.h"

/* ---- which fit */

static bool is_turned(const struct imaginary *imaginary) {
    return imaginary->row->shape == SHAPE_ROTATE || imaginary->rest.number[REST_ROTATE];
}

/* Scaling beside another operation stretches, but not where the image is turned, too. */
static struct fit fit_stretched(const struct imaginary *imaginary) {
    if (is_on(&imaginary->frame, FRAME_EMBED)) return (struct fit){ "contain", false };
    return is_turned(imaginary) ? (struct fit){ "inside", false } : (struct fit){ "fill", true };
}

static struct fit fit_covering(const struct params *frame) {
    if (!is_on(frame, FRAME_NOCROP)) return (struct fit){ "cover", true };
    return (struct fit){ is_on(frame, FRAME_EMBED) ? "contain" : "inside", true };
}

/* A plain resize is ours, but where `whole`. */
static struct fit fit_resized(const struct imaginary *imaginary) {
    const struct params *frame = &imaginary->frame;
    if (is_off(frame, FRAME_NOCROP)) return (struct fit){ "cover", false };
    if (imaginary->whole || is_on(frame, FRAME_NOCROP) || is_on(frame, FRAME_EMBED) ||
        is_given(frame, FRAME_EXTEND))
        return (struct fit){ "contain", false };
    return (struct fit){ NULL, true };
}

struct fit fit_of(const struct imaginary *imaginary, enum shape shape) {
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

/* ---- what it sets */

/* Sets what the request has not set itself. */
static enum status choose(struct plan *plan, const char *name, const char *value,
                          struct failure *failure) {
    if (has(plan, name))
        return fail(failure, STATUS_BAD_PARAM,
                    "%s: %s follows from what imaginary's names say; leave it out, or those",
                    last(plan)->op->name, name);
    return plan_set(plan, name, value, failure);
}

/* What is around it. */
static enum status set_extend(const struct imaginary *imaginary, struct plan *plan,
                              const struct encode_options *encode, struct failure *failure) {
    const long extend = imaginary->frame.number[FRAME_EXTEND];
    if (extend < EXTEND_WHITE)
        return fail(failure, STATUS_BAD_PARAM,
                    "%s: edges are not continued around the image (extend=%s); say extend=white, "
                    "black or background, or nocrop=false to cut it, or call fit",
                    imaginary->row->name, imaginary_frame[FRAME_EXTEND].choices[extend]);
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

enum status fit_set(const struct imaginary *imaginary, struct plan *plan, struct fit fit,
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
