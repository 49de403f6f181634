// SPDX-License-Identifier: Apache-2.0
/* imaginary.h - operations and parameters as clients of imaginary write them, told in operators.
 *
 * imaginary does all that one operation asks for in an order of its own: it turns and mirrors the
 * image, scales it, cuts it, blurs it, and takes its colours out. Here that becomes a step each:
 *
 *     fit?width=300&height=200&flop=true     flop; resize width=300 height=200 fit=inside ...
 *
 * Names of operators that imaginary has too (resize, crop, rotate...) keep their own meaning, and
 * its further parameters are understood beside theirs. `whole` gives imaginary's meaning to these
 * as well: under IMAGINARY_PATH. What cannot be had is refused with what to do instead; README.md
 * of server/ tells what is another than there.
 *
 * Used by:  route.c (paths), settings.c (the operation of a path), operations.c (steps of a
 *           pipeline), openapi_json.c and metrics, which list the names.
 * Owns:     nothing; plain data.
 * Fails:    STATUS_BAD_PARAM with a sentence.
 * Threads:  any; an operation is read by one at a time.
 * Source:   github.com/h2non/imaginary: README.md, image.go, params.go, server_test.go; the order
 *           and the sizes are those of github.com/h2non/bimg, resizer.go.
 */
#ifndef BURIN_IMAGINARY_H
#define BURIN_IMAGINARY_H

#include "pipeline/encode_options.h"
#include "pipeline/plan.h"

#define IMAGINARY_PATH "/imaginary"

struct imaginary_row;

enum { IMAGINARY_VALUE_MAX = 16 };

/* One operation, while its parameters come. */
struct imaginary {
    bool whole;                      /* to be set before imaginary_begin: all is as there */
    bool upright;                    /* too: it is not the first step of its pipeline */
    const struct imaginary_row *row; /* NULL: it is none of imaginary's */
    bool has_type, smart;
    long ratio[2];                        /* of aspectratio; 0: not given */
    char background[IMAGINARY_VALUE_MAX]; /* of a step alone, as RRGGBB; "": none */
    struct params frame, rest;            /* what no parameter of its operator is */
};

enum { IMAGINARY_NAMES_MAX = 16 };

/* The INDEX-th operation that no operator has the name of, and its operator; NULL behind the last.
 * OP is NULL where there is none, as of convert. */
const char *imaginary_name(int index, const char **op);

/* Whether imaginary has an operation of this NAME, and it can be had here. */
bool imaginary_has(const char *name);

/* Appends NAME's step, an operator's or of imaginary's operation: what comes next are its
 * parameters. An operator that a user wrote comes before imaginary's, but where `whole`. */
enum status imaginary_begin(struct imaginary *imaginary, struct plan *plan, const char *name,
                            struct failure *failure);

/* Whether the step's operator or imaginary has a parameter NAME. */
bool imaginary_takes(const struct imaginary *imaginary, const struct plan *plan, const char *name);

/* Sets it. */
enum status imaginary_set(struct imaginary *imaginary, struct plan *plan, const char *name,
                          const char *value, struct failure *failure);

/* The VALUE of what every request may be asked for, as it is called here: colours such as
 * 250,20,10 and compression up to 9. TEXT has room for one that is made. */
const char *imaginary_value(const char *name, const char *value, char text[IMAGINARY_VALUE_MAX]);

/* Once all has come: the steps around it, in imaginary's order. ENCODE gets what is said of the
 * file. Does nothing where it is none of imaginary's. */
enum status imaginary_complete(struct imaginary *imaginary, struct plan *plan,
                               struct encode_options *encode, struct failure *failure);

#endif
