// SPDX-License-Identifier: Apache-2.0
/* user_op.h - a user's operator: a record as every operator has one, and the facts from its source.
 *
 * Used by:  reader.c, which makes them; twin.c and user_twin.cu, which run them; convert.c and
 *           convert_gpu.c, which write programs from them.
 * Owns:     a user_file owns its text, its operators and all texts in them.
 * Threads:  read-only once it is read and compiled.
 * Limits:   USER_OPS_MAX operators and USER_STRUCTS_MAX structs a file.
 */
#ifndef BURIN_USER_OP_H
#define BURIN_USER_OP_H

#include "pipeline/op.h"
#include "pipeline/skeletons/parameter_struct.h"
#include "pipeline/skeletons/twin/rows.h"

enum { USER_OPS_MAX = 16, USER_STRUCTS_MAX = 8, USER_BINS_DEFAULT = 256, USER_BINS_MAX = 65536 };
enum { USER_WINDOW_CHAINED_MAX = 5 }; /* the largest window that a GPU joins with P2Ps before it */

enum skeleton {
    SKELETON_P2P,   /* a sample becomes a sample */
    SKELETON_N2P,   /* a window of samples becomes a sample */
    SKELETON_R2S,   /* all samples become one number */
    SKELETON_R2V,   /* all samples become a list of numbers */
    SKELETON_PIXEL, /* a P2P of whole pixels; the others have a directive each, in this order */
};

/* The ints that a function may ask for by a parameter's name; user_text_given has the values. */
enum given {
    GIVEN_INDEX, /* y * width + x */
    GIVEN_X,
    GIVEN_Y,
    GIVEN_CHANNEL, /* 0 red or gray, 1 green, 2 blue */
    GIVEN_WIDTH,   /* of the image, from here on */
    GIVEN_HEIGHT,
    GIVEN_CHANNELS, /* 1 to 4, with alpha */
    GIVEN_COUNT
};

/* The functions of a compiled CPU twin; twin/rows.h describes their arguments. */
struct twin_loops {
    void (*rows)(const struct burin_rows *rows);
    void (*merge)(struct burin_fold *into, const struct burin_fold *from,
                  const void *params); /* only R2S */
};

struct user_op {
    struct op op; /* the first member, so that both have one address */
    const struct user_file *file;
    enum skeleton skeleton;
    int window;                    /* N2P: its side, odd */
    enum scalar_type result;       /* R2S, R2V; SCALAR_NONE: the sample's own type */
    bool generic;                  /* R2S with types T and E */
    bool uses_position;            /* index, x, y or channel may be used */
    enum given given[GIVEN_COUNT]; /* P2P, N2P: its parameters behind the pixel */
    int given_count;
    const struct parameter_struct *parameters; /* NULL: none */
    struct param params[PARAMS_MAX + 1];       /* the fields and, for an R2V, `bins` */
    const struct declaration *function;
    const struct declaration *map;     /* R2S: the function under #MAP; NULL: none */
    enum scalar_type map_sample;       /* R2S: in which the map gets a sample */
    enum scalar_type map_result;       /* R2S: the map's, the same as `result` */
    bool map_takes, function_takes;    /* the parameters are passed to the map, to the function */
    const struct token *counts, *bins; /* R2V: the names of the list and of its length */
    struct twin_loops loops[2];        /* for 8-bit and 16-bit images; NULL: none */
};

struct user_file {
    const char *path, *name; /* as given, and its last component */
    const char *text;        /* ends with NUL; line ends are "\n" */
    size_t length;
    struct user_op ops[USER_OPS_MAX];
    int count;
    struct parameter_struct structs[USER_STRUCTS_MAX];
    int struct_count;
    struct text_arena arena;
    struct tokens tokens;
    struct declarations declarations;
};

static inline const struct user_op *user_op_of(const struct op *op) {
    return (const struct user_op *)op;
}

/* Returns OP's numbers a channel: for an R2V the value of its last parameter, else 1. */
static inline int user_op_bins(const struct user_op *op, const struct params *params) {
    const int own = op->parameters ? op->parameters->count : 0;
    return op->skeleton == SKELETON_R2V ? (int)params->number[own] : 1;
}

#endif
