// SPDX-License-Identifier: Apache-2.0
/* imaginary.h - translates operations and parameters of imaginary's clients into operators.
 *
 * imaginary does everything that one operation asks for in a fixed order: it rotates and mirrors
 * the image, scales, cuts and blurs it, and removes its colours. Here each becomes a step:
 *
 *     fit?width=300&height=200&flop=true     flop; resize width=300 height=200 fit=inside ...
 *
 * Operators whose names imaginary has too (resize, crop, rotate...) keep their own meaning, and
 * accept its other parameters as well. `whole`, set under IMAGINARY_PATH, gives imaginary's meaning
 * to these names too, and values are read as imaginary reads them. What Burin does not have is
 * refused with a sentence that says what to do instead, or, with `whole`, ignored with a note if it
 * is harmless. server/README.md lists the differences.
 *
 * Used by:  route.c (paths), handle_image.c (the dialect of a request), access/key_file.c and
 *           cli/command_sign.c (the same of a preset or an address), openapi_json.c and metrics.c,
 *           which list the names.
 * Owns:     nothing; plain data.
 * Fails:    STATUS_BAD_PARAM with a sentence.
 * Threads:  any; a struct imaginary: one at a time.
 * Source:   github.com/h2non/imaginary: README.md, image.go, params.go, server_test.go; the order
 *           and the sizes are those of github.com/h2non/bimg, resizer.go.
 */
#ifndef BURIN_IMAGINARY_H
#define BURIN_IMAGINARY_H

#include "server/request/settings.h"

#define IMAGINARY_PATH "/imaginary"

struct imaginary_row;

enum { IMAGINARY_VALUE_MAX = 16 };

/* One operation and its parameters so far. */
struct imaginary {
    struct dialect dialect;
    bool whole;    /* every name has imaginary's meaning, and what is harmless is ignored */
    char *ignored; /* the request's list: dialect.ignored */
    bool *as_stored;
    bool upright; /* an earlier step has applied the EXIF orientation */
    const struct imaginary_row *row;
    bool has_type, smart;
    long ratio[2];                        /* aspectratio; 0: not given */
    char background[IMAGINARY_VALUE_MAX]; /* of this step alone, as RRGGBB; "": none */
    struct params frame, rest;            /* parameters that are not its operator's */
};

enum { IMAGINARY_NAMES_MAX = 16 };

/* The INDEX-th operation whose name no operator has, and its operator *OP (NULL: none, such as for
 * convert). NULL after the last. */
const char *imaginary_name(int index, const char **op);

/* Whether NAME is an operation of imaginary that Burin has. */
bool imaginary_has(const char *name);

/* Whether any operation of imaginary has a parameter NAME that Burin understands. */
bool imaginary_knows(const char *name);

/* Begins the settings of a request for NAME: an operator of OPS, an operation of imaginary,
 * "pipeline" or "info". A user's operator comes before imaginary's of that name unless WHOLE. Fills
 * IMAGINARY, the dialect, which must be valid as long as the settings, as must OPS. */
enum status imaginary_begin(struct imaginary *imaginary, struct settings *settings,
                            const struct op_set *ops, const char *name, bool whole,
                            struct failure *failure);

/* After all parameters: completes the operation's step and adds the steps around it, in imaginary's
 * order. ENCODE: how the file is written. */
enum status imaginary_complete(struct imaginary *imaginary, struct plan *plan,
                               const struct encode_options *encode, struct failure *failure);

#endif
