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
 * Used by:  route.c (paths), handle_process.c (the dialect of a request), openapi_json.c and
 *           metrics, which list the names.
 * Owns:     nothing; plain data.
 * Fails:    STATUS_BAD_PARAM with a sentence.
 * Threads:  any; an operation is read by one at a time.
 * Source:   github.com/h2non/imaginary: README.md, image.go, params.go, server_test.go; the order
 *           and the sizes are those of github.com/h2non/bimg, resizer.go.
 */
#ifndef BURIN_IMAGINARY_H
#define BURIN_IMAGINARY_H

#include "server/request/settings.h"

#define IMAGINARY_PATH "/imaginary"

struct imaginary_row;

enum { IMAGINARY_VALUE_MAX = 16 };

/* One operation, while its parameters come. */
struct imaginary {
    struct dialect dialect;
    bool whole;   /* every name means what it means to imaginary */
    bool upright; /* it is not the first step of its pipeline */
    const struct imaginary_row *row;
    bool has_type, smart;
    long ratio[2];                        /* of aspectratio; 0: not given */
    char background[IMAGINARY_VALUE_MAX]; /* of a step alone, as RRGGBB; "": none */
    struct params frame, rest;            /* parameters that are not its operator's */
};

enum { IMAGINARY_NAMES_MAX = 16 };

/* The INDEX-th operation that no operator has the name of, and its operator; NULL behind the last.
 * OP is NULL where there is none, as of convert. */
const char *imaginary_name(int index, const char **op);

/* Whether imaginary has an operation of this NAME, and it can be had here. */
bool imaginary_has(const char *name);

/* The dialect of a request for the operation NAME, or for /pipeline (NULL), for settings_init.
 * Returns NULL if imaginary has no operation NAME, or a user's operator among OPS has that name,
 * unless WHOLE. IMAGINARY is filled, and must last as long as the settings. */
struct dialect *imaginary_dialect(struct imaginary *imaginary, const struct op_set *ops,
                                  const char *name, bool whole);

/* Once all has come: the steps around it, in imaginary's order. ENCODE gets what is said of the
 * file. */
enum status imaginary_complete(struct imaginary *imaginary, struct plan *plan,
                               struct encode_options *encode, struct failure *failure);

#endif
