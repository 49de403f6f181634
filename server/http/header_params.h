// SPDX-License-Identifier: Apache-2.0
/* header_params.h - the parameters of a header's value: `; name=token; name="quoted \" text"`.
 *
 * Used by:  multipart.c (the boundary, a part's name and filename).
 * Owns:     nothing; a parameter points into the value.
 * Fails:    header_params_next returns -1 where the text is no list of parameters.
 * Threads:  any; no state.
 * Source:   RFC 9110, section 5.6.6; no blanks around the equals sign.
 */
#ifndef BURIN_HEADER_PARAMS_H
#define BURIN_HEADER_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

struct header_param {
    const char *name, *value;
    size_t name_length, value_length;
    bool quoted; /* value is what stood between the quotes, escapes and all */
};

/* 1: OUT is filled and *AT moved on; 0: there are no more; -1: this is no list of parameters. */
int header_params_next(const char **at, struct header_param *out);

bool header_params_is(const struct header_param *param, const char *name);

/* Without escapes and terminated; returns its length, which may be more than fits in OUT. */
size_t header_params_copy(const struct header_param *param, char *out, size_t room);

/* How many characters of a token P begins with. */
size_t header_params_token(const char *p);

const char *header_params_skip_blanks(const char *p);

#endif
