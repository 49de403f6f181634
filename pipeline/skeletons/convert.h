// SPDX-License-Identifier: Apache-2.0
/* convert.h - a user file as a program of its own: sources that no longer need burin.
 *
 * Used by:  `burin convert`; cuda/skeletons/convert_gpu.c, which adds the GPU's part.
 * Owns:     nothing.
 * Fails:    STATUS_INTERNAL with the file and the system's reason; STATUS_BAD_PARAM where the
 *           folder already has such a program.
 * Threads:  any; no state.
 */
#ifndef BURIN_CONVERT_H
#define BURIN_CONVERT_H

#include "pipeline/skeletons/user_op.h"

#include <stdio.h>

/* Writes op.h, op_cpu.c, main.c, Makefile and the headers that they include into FOLDER, which is
 * made if missing. */
enum status convert_write(const struct user_file *file, const char *folder,
                          struct failure *failure);

struct convert_file {
    const char *name;
    const char *text; /* its content; NULL: PUT prints it */
    void (*put)(FILE *out, const struct user_file *file);
};

/* LIST ends with a name that is NULL. */
enum status convert_write_files(const struct convert_file *list, const struct user_file *file,
                                const char *folder, struct failure *failure);

/* Prints "(const struct op_picture *in, ..." of an operator's function in op.h, up to its last
 * argument. */
void convert_put_arguments(FILE *out, const struct user_op *op);

#endif
