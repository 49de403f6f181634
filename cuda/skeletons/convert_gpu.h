// SPDX-License-Identifier: Apache-2.0
/* convert_gpu.h - the CUDA part of a user file that becomes a program of its own.
 *
 * Used by:  server/cli/command_convert.c, after convert_write.
 * Owns:     nothing.
 * Fails:    STATUS_INTERNAL with the file and the system's reason.
 * Threads:  any; no state.
 */
#ifndef BURIN_CONVERT_GPU_H
#define BURIN_CONVERT_GPU_H

#include "pipeline/skeletons/user_op.h"

/* Writes op.cu and the skeletons that it includes into FOLDER. */
enum status convert_gpu_write(const struct user_file *file, const char *folder,
                              struct failure *failure);

#endif
