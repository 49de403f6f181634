// SPDX-License-Identifier: Apache-2.0
/* scalar_type.h - C's basic types, in signatures and structs of users' operators.
 *
 * Used by:  the reader, the generated twins.
 * Threads:  any; no state.
 * Limits:   sizes and alignments are those of 64-bit Linux, which CUDA shares.
 */
#ifndef BURIN_SCALAR_TYPE_H
#define BURIN_SCALAR_TYPE_H

#include "pipeline/skeletons/tokens.h"

enum scalar_type {
    SCALAR_NONE,
    SCALAR_BOOL,
    SCALAR_CHAR,
    SCALAR_SCHAR,
    SCALAR_UCHAR,
    SCALAR_SHORT,
    SCALAR_USHORT,
    SCALAR_INT,
    SCALAR_UINT,
    SCALAR_LONG,
    SCALAR_ULONG,
    SCALAR_LLONG,
    SCALAR_ULLONG,
    SCALAR_FLOAT,
    SCALAR_DOUBLE,
    SCALAR_COUNT
};

/* Reads a type's words from *TOKEN on, in any order that C allows, with or without const, and moves
 * *TOKEN past them. SCALAR_NONE, with *TOKEN unchanged, where there is no basic type. */
enum scalar_type scalar_type_read(const struct token **token);

const char *scalar_type_name(enum scalar_type type);      /* "unsigned char" */
size_t scalar_type_bytes(enum scalar_type type);          /* also its alignment */
bool scalar_type_is_float(enum scalar_type type);         /* float, double */
bool scalar_type_is_signed(enum scalar_type type);        /* integers that can be negative */
long scalar_type_min(enum scalar_type type);              /* integers and bool */
long scalar_type_max(enum scalar_type type);              /* integers and bool; at most LONG_MAX */
unsigned scalar_type_sample_depth(enum scalar_type type); /* 8 or 16; 0: not a sample's type */

#endif
