// SPDX-License-Identifier: Apache-2.0
/* How it works. A name is looked up first among the parameters of the step's operator, then in the
 * two lists of imaginary_rows.h. imaginary_values.c puts its value into Burin's form. Values of the
 * lists are then read like an operator's and kept until all have come: the meaning of each depends
 * on the others (imaginary_steps.c). */
#include "server/http/imaginary.h"

#include "pipeline/registry.h"
#include "server/http/imaginary_rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables (imaginary_rows.h) */

#define SIDE(is, text)                                                                             \
    { .name = is, .summary = text, .unit = "pixels", .type = PARAM_INT, .max = IMAGE_SIDE_MAX }
#define FLAG(is, text)                                                                             \
    { .name = is, .summary = text, .type = PARAM_BOOL }

const struct param imaginary_frame[] = {
    [FRAME_WIDTH] = SIDE("width", "Width that it is scaled to"),
    [FRAME_HEIGHT] = SIDE("height", "Height that it is scaled to"),
    [FRAME_TOP] = SIDE("top", "Rows above the part that is cut out"),
    [FRAME_LEFT] = SIDE("left", "Columns left of the part that is cut out"),
    [FRAME_AREAWIDTH] = SIDE("areawidth", "Columns of the part that is cut out"),
    [FRAME_AREAHEIGHT] = SIDE("areaheight", "Rows of the part that is cut out"),
    [FRAME_FACTOR] = { .name = "factor",
                       .summary = "Each pixel becomes a square with one more a side",
                       .type = PARAM_INT,
                       .min = 1,
                       .max = 63,
                       .def = 1 },
    [FRAME_FORCE] = FLAG("force", "Stretch it"),
    [FRAME_NOCROP] = FLAG("nocrop", "Cut nothing off"),
    [FRAME_EMBED] = FLAG("embed", "Put something around it"),
    [FRAME_EXTEND] = { .name = "extend",
                       .summary = "What is put around it",
                       .type = PARAM_CHOICE,
                       .choices = { "copy", "mirror", "lastpixel", "white", "black",
                                    "background" } },
    [FRAME_GRAVITY] = { .name = "gravity",
                        .summary = "Which side is kept",
                        .type = PARAM_CHOICE,
                        .choices = { "centre", "north", "east", "south", "west", "smart" } },
    { .name = NULL },
};

const struct param imaginary_rest[] = {
    [REST_ROTATE] = { .name = "rotate",
                      .summary = "Clockwise, before all else",
                      .unit = "degrees",
                      .type = PARAM_CHOICE,
                      .choices = { "0", "90", "180", "270" } },
    [REST_FLIP] = FLAG("flip", "Top becomes bottom"),
    [REST_FLOP] = FLAG("flop", "Left becomes right"),
    [REST_SIGMA] = { .name = "sigma",
                     .summary = "Blurs it",
                     .unit = "pixels",
                     .type = PARAM_DECIMAL,
                     .max = PARAM_DECIMAL_DEFAULT_MAX },
    [REST_COLORSPACE] = { .name = "colorspace",
                          .summary = "bw: without colours",
                          .type = PARAM_CHOICE,
                          .choices = { "srgb", "bw" } },
    [REST_FIELD] = { .name = "field",
                     .summary = "The form's part with the image",
                     .type = PARAM_CHOICE,
                     .choices = { "file", "image", "media" } },
    [REST_NOROTATION] = FLAG("norotation", "Leave the orientation of EXIF as it is"),
    [REST_NOPROFILE] = FLAG("noprofile", "Leave the colour profile out"),
    [REST_STRIPMETA] = { .name = "stripmeta",
                         .summary = "Leave metadata out; false: keep them",
                         .type = PARAM_BOOL,
                         .def = true },
    [REST_MINAMPL] = { .name = "minampl",
                       .summary = "How exact the blur is",
                       .type = PARAM_DECIMAL,
                       .max = PARAM_DECIMAL_DEFAULT_MAX },
    { .name = NULL },
};

const struct imaginary_row imaginary_rows[] = {
    { "resize", "resize", PLACE_SCALE, SHAPE_RESIZE, 0 },
    { "fit", "resize", PLACE_SCALE, SHAPE_INSIDE, 0 },
    { "enlarge", "resize", PLACE_SCALE, SHAPE_COVER, 0 },
    { "thumbnail", "resize", PLACE_SCALE, SHAPE_STRETCH, 0 },
    { "crop", "crop", PLACE_CUT, SHAPE_CROP, 0 },
    { "smartcrop", "smartcrop", PLACE_CUT, SHAPE_SMARTCROP, 0 },
    { "extract", "extract", PLACE_CUT, SHAPE_EXTRACT, TAKES_AREA },
    { "rotate", "rotate", PLACE_ROTATE, SHAPE_ROTATE, TAKES_SIZE },
    { "flip", "flip", PLACE_FLIP, SHAPE_SET, TAKES_SIZE },
    { "flop", "flop", PLACE_FLOP, SHAPE_SET, TAKES_SIZE },
    { "zoom", "zoom", PLACE_ZOOM, SHAPE_ZOOM,
      TAKES_SIZE | TAKES_CORNER | TAKES_AREA | TAKES_FACTOR },
    { "blur", "blur", PLACE_BLUR, SHAPE_BLUR, TAKES_SIZE },
    { "watermarkimage", "composite", PLACE_WATERMARK, SHAPE_WATERMARK, TAKES_SIZE | TAKES_PLACE },
    { "convert", NULL, PLACES, SHAPE_CONVERT, TAKES_SIZE },
    { "autorotate", NULL, PLACES, SHAPE_SET, TAKES_NOTHING },
    { .name = NULL },
};

/* ---- operations */

static const struct imaginary_row *find_row(const char *name) {
    for (const struct imaginary_row *row = imaginary_rows; row->name; row++)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

bool imaginary_has(const char *name) {
    return find_row(name);
}

const char *imaginary_name(int index, const char **op) {
    for (const struct imaginary_row *row = imaginary_rows; row->name; row++) {
        if (row->op && strcmp(row->op, row->name) == 0) continue;
        *op = row->op;
        if (index-- == 0) return row->name;
    }
    return NULL;
}

/* The row of NAME; NULL: none, or a user's operator has that name. */
static const struct imaginary_row *row_of(const struct imaginary *imaginary,
                                          const struct op_set *ops, const char *name) {
    if (!ops) ops = registry_set();
    const struct op *op = imaginary->whole ? NULL : op_set_find(ops, name);
    return op && op_set_is_added(ops, op) ? NULL : find_row(name);
}

/* Appends the step of the operation NAME; its parameters follow. */
static enum status begin(struct imaginary *imaginary, struct plan *plan, const char *name,
                         struct failure *failure) {
    imaginary->row = row_of(imaginary, plan->ops, name);
    params_init(&imaginary->frame, imaginary_frame);
    params_init(&imaginary->rest, imaginary_rest);
    return imaginary->row->op ? plan_add(plan, imaginary->row->op, failure) : STATUS_OK;
}

/* ---- parameters */

static int find_param(const struct param *list, const char *name) {
    for (int i = 0; list[i].name; i++)
        if (strcmp(list[i].name, name) == 0) return i;
    return -1;
}

bool imaginary_knows(const char *name) {
    return find_param(imaginary_frame, name) >= 0 || find_param(imaginary_rest, name) >= 0 ||
           strcmp(name, "aspectratio") == 0;
}

static bool takes_frame(const struct imaginary_row *row, int index) {
    static const unsigned needs[FRAME_PARAMS] = {
        [FRAME_WIDTH] = TAKES_SIZE,
        [FRAME_HEIGHT] = TAKES_SIZE,
        [FRAME_TOP] = TAKES_CORNER | TAKES_PLACE,
        [FRAME_LEFT] = TAKES_CORNER | TAKES_PLACE,
        [FRAME_AREAWIDTH] = TAKES_AREA,
        [FRAME_AREAHEIGHT] = TAKES_AREA,
        [FRAME_FACTOR] = TAKES_FACTOR,
    };
    return index >= 0 && (!needs[index] || needs[index] & row->takes);
}

/* Operations that take both sides. */
static bool takes_ratio(const struct imaginary_row *row) {
    return row->takes & TAKES_SIZE || row->place == PLACE_SCALE || row->shape == SHAPE_CROP ||
           row->shape == SHAPE_SMARTCROP;
}

static bool takes(const struct imaginary *imaginary, const struct plan *plan, const char *name) {
    const struct imaginary_row *row = imaginary->row;
    if (row->op && plan_takes(plan, name)) return true;
    if (row->takes & TAKES_NOTHING) return false;
    return takes_frame(row, find_param(imaginary_frame, name)) ||
           find_param(imaginary_rest, name) >= 0 ||
           (takes_ratio(row) && strcmp(name, "aspectratio") == 0);
}

static enum status given_twice(const struct imaginary *imaginary, const char *name,
                               struct failure *failure) {
    return fail(failure, STATUS_BAD_PARAM, "%s: %s is given twice; give it once",
                imaginary->row->name, name);
}

static enum status set_ratio(struct imaginary *imaginary, const char *value,
                             struct failure *failure) {
    char shown[PARAM_SHOWN_MAX], *end = NULL;
    long *ratio = imaginary->ratio;
    if (ratio[0]) return given_twice(imaginary, "aspectratio", failure);
    if (strspn(value, "0123456789:") == strlen(value) && strlen(value) < 12) {
        ratio[0] = strtol(value, &end, 10);
        if (*end == ':') ratio[1] = strtol(end + 1, &end, 10);
    }
    if (end && !*end && ratio[0] > 0 && ratio[1] > 0) return STATUS_OK;
    if (imaginary->whole) {
        ratio[0] = 0;
        return imaginary_ignore(imaginary, "aspectratio");
    }
    return fail(failure, STATUS_BAD_PARAM, "%s: aspectratio must be such as 16:9, not \"%s\"",
                imaginary->row->name, param_shown(value, shown));
}

/* Parameters of imaginary that Burin does not have, and what to do instead; under IMAGINARY_PATH
 * they are ignored. */
static const struct {
    const char *name, *instead;
} strangers[] = {
    { "url", "nothing is fetched here; send the image as the body, or in the form's part file" },
    { "image", "nothing is fetched here; send the watermark in the form's part overlay, or "
               "name one of the server's by overlay=NAME" },
    { "file", "no file is opened here; send the image as the body, or in the form's part file" },
    { "key", "a key goes into the header Authorization; leave key out" },
    { "sign", "burin sign makes addresses that are signed; leave sign out" },
    { "speed", "a WebP has effort=0..6 in place of speed" },
};

static enum status unknown(const struct imaginary *imaginary, const struct plan *plan,
                           const char *name, struct failure *failure) {
    const char *names[PARAMS_MAX + FRAME_PARAMS + REST_PARAMS], *near;
    const struct imaginary_row *row = imaginary->row;
    const struct param *own = row->op ? plan->steps[plan->count - 1].op->params : NULL;
    char shown[PARAM_SHOWN_MAX];
    size_t count = 0;
    if (imaginary->whole) return imaginary_ignore(imaginary, name);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (strcmp(name, strangers[i].name) == 0)
            return fail(failure, STATUS_BAD_PARAM, "%s: %s", row->name, strangers[i].instead);
    for (; own && own->name; own++) names[count++] = own->name;
    for (int i = 0; i < FRAME_PARAMS + REST_PARAMS && !(row->takes & TAKES_NOTHING); i++)
        if (i >= FRAME_PARAMS || takes_frame(row, i))
            names[count++] =
                i < FRAME_PARAMS ? imaginary_frame[i].name : imaginary_rest[i - FRAME_PARAMS].name;
    near = nearest_name(name, names, count);
    return fail(failure, STATUS_BAD_PARAM, "%s has no parameter \"%s\"%s%s%s", row->name,
                param_shown(name, shown), near ? "; did you mean \"" : "; leave it out",
                near ? near : "", near ? "\"?" : "");
}

/* Burin's crop has every gravity but "smart". */
static bool is_smart_crop(const struct imaginary *imaginary, const char *name, const char *value) {
    return imaginary->row->shape == SHAPE_CROP && strcmp(name, "gravity") == 0 &&
           (imaginary->smart || strcmp(value, "smart") == 0);
}

/* VALUE is in Burin's form. */
static enum status set(struct imaginary *imaginary, struct plan *plan, const char *name,
                       const char *value, struct failure *failure) {
    const struct imaginary_row *row = imaginary->row;
    if (is_smart_crop(imaginary, name, value)) {
        if (imaginary->smart) return given_twice(imaginary, name, failure);
        imaginary->smart = true;
        return STATUS_OK;
    }
    if (row->op && plan_takes(plan, name)) return plan_set(plan, name, value, failure);
    if (strcmp(name, "key") == 0 && (imaginary->whole || !*value)) return STATUS_OK;
    if (!takes(imaginary, plan, name)) return unknown(imaginary, plan, name, failure);
    if (find_param(imaginary_frame, name) >= 0)
        return params_set(&imaginary->frame, imaginary_frame, row->name, name, value, failure);
    if (find_param(imaginary_rest, name) >= 0)
        return params_set(&imaginary->rest, imaginary_rest, row->name, name, value, failure);
    return set_ratio(imaginary, value, failure);
}

/* ---- a path's operation */

static struct imaginary *of(const struct dialect *dialect) {
    return (struct imaginary *)dialect; /* the dialect is its first member */
}

static enum status begin_path(struct dialect *dialect, struct plan *plan, const char *name,
                              struct failure *failure) {
    return begin(of(dialect), plan, name, failure);
}

static bool takes_of_path(const struct dialect *dialect, const struct plan *plan,
                          const char *name) {
    return takes(of(dialect), plan, name);
}

/* NULL: NAME does not set how the file is written. */
static const char *file_option(const char *name) {
    if (strcmp(name, "interlace") == 0) return "progressive";
    if (strcmp(name, "stripmeta") == 0) return "metadata";
    if (strcmp(name, "noprofile") == 0) return "profile";
    return strcmp(name, "type") == 0 || strcmp(name, "quality") == 0 ||
                   strcmp(name, "compression") == 0 || strcmp(name, "palette") == 0
               ? name
               : NULL;
}

static enum status set_of_path(struct dialect *dialect, struct settings *settings, const char *name,
                               const char *value, struct failure *failure) {
    struct imaginary *imaginary = of(dialect);
    char text[IMAGINARY_VALUE_MAX];
    const bool whole = imaginary->whole, planned = settings->pipeline || settings->info;
    if (planned && !whole) return settings_set_native(settings, name, value, failure);
    const char *here = imaginary_value(imaginary, name, value, false, text);
    if (!here || (whole && strcmp(name, "key") == 0)) return STATUS_OK;
    imaginary->has_type |= strcmp(name, "type") == 0 || strcmp(name, "types") == 0;
    if (file_option(name)) name = file_option(name);
    if (settings_is_shared(settings, name))
        return settings_set_native(settings, name, here, failure);
    return planned ? imaginary_ignore(imaginary, name)
                   : set(imaginary, &settings->plan, name, here, failure);
}

static enum status complete_path(struct dialect *dialect, struct plan *plan,
                                 const struct encode_options *encode, struct failure *failure) {
    return imaginary_complete(of(dialect), plan, encode, failure);
}

/* ---- a step of a pipeline */

static bool has_step(const struct dialect *dialect, const struct plan *plan, const char *name) {
    return row_of(of(dialect), plan->ops, name) != NULL;
}

struct step_reading {
    struct imaginary imaginary;
    const struct operations_place *place;
    const json_t *params;
};

static enum status set_of_step(void *context, const char *name, const char *value,
                               struct failure *failure) {
    struct step_reading *reading = context;
    const struct operations_place *place = reading->place;
    struct imaginary *imaginary = &reading->imaginary;
    char text[IMAGINARY_VALUE_MAX];
    const bool number = json_is_number(json_object_get(reading->params, name));
    const char *here = imaginary_value(imaginary, name, value, number, text);
    const char *option = file_option(name);
    const bool type = strcmp(name, "type") == 0;
    if (!here) return STATUS_OK;
    if (option && place->settings) {
        if (imaginary->whole && !place->last && !type) return imaginary_ignore(imaginary, name);
        imaginary->has_type |= type;
        return settings_set_in_step(place->settings, option, here, place->last, failure);
    }
    /* A colour in imaginary's form also goes under transparency; in Burin's form it belongs to the
     * step alone. */
    if (strcmp(name, "background") == 0 && here == text) {
        memcpy(imaginary->background, text, sizeof text);
        return place->settings ? settings_set_in_step(place->settings, name, here, false, failure)
                               : STATUS_OK;
    }
    if (!takes(imaginary, place->plan, name) &&
        operations_check_name(option ? option : name, failure))
        return failure->status;
    return set(imaginary, place->plan, name, here, failure);
}

static enum status add_step(const struct dialect *dialect, const struct operations_place *place,
                            const char *name, const json_t *params, struct failure *failure) {
    struct step_reading reading = { .place = place, .params = params };
    struct imaginary *imaginary = &reading.imaginary;
    imaginary->whole = of(dialect)->whole;
    imaginary->ignored = of(dialect)->ignored;
    imaginary->as_stored = of(dialect)->as_stored;
    imaginary->upright = !place->first;
    enum status status = begin(imaginary, place->plan, name, failure);
    if (!status) status = operations_set_params(params, set_of_step, &reading, failure);
    return status ? status : imaginary_complete(imaginary, place->plan, place->encode, failure);
}

enum status imaginary_begin(struct imaginary *imaginary, struct settings *settings,
                            const struct op_set *ops, const char *name, bool whole,
                            struct failure *failure) {
    const bool info = strcmp(name, "info") == 0;
    const char *op = info || strcmp(name, "pipeline") == 0 ? NULL : name;
    *imaginary = (struct imaginary){
        .dialect = { begin_path, takes_of_path, set_of_path, complete_path, has_step, add_step, "",
                     false },
        .whole = whole,
    };
    imaginary->ignored = imaginary->dialect.ignored;
    imaginary->as_stored = &imaginary->dialect.as_stored;
    const bool translates = info ? whole : !op || row_of(imaginary, ops, op);
    struct dialect *dialect = translates ? &imaginary->dialect : NULL;
    return info ? settings_init_info(settings, dialect)
                : settings_init(settings, ops, op, dialect, failure);
}
