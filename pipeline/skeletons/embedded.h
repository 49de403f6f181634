// SPDX-License-Identifier: Apache-2.0
/* embedded.h - sources that the program carries as text, into which users' operators are put.
 *
 * The Makefile makes them from the files of the same name.
 *
 * Used by:  user_text.c, convert.c, kernel_source.c.
 * Threads:  any; constants.
 */
#ifndef BURIN_EMBEDDED_H
#define BURIN_EMBEDDED_H

extern const char embedded_rows[], embedded_prelude[], embedded_exact_math[];
extern const char embedded_main[], embedded_makefile[]; /* of `burin convert` */
extern const char embedded_p2p[], embedded_n2p[], embedded_r2s[], embedded_r2v[], embedded_pixel[];

#endif
