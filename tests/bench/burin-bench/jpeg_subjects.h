// SPDX-License-Identifier: Apache-2.0
/* jpeg_subjects.h - the pictures that `burin bench jpeg` codes: photographs of a folder cut to
 * size, or drawn scenes that take about as many bytes; and what the CPU codec makes of them.
 *
 * Used by:  jpeg.c.
 * Owns:     a set its pictures until it is released.
 * Fails:    a status and its sentence; a set is then to be released all the same.
 * Limits:   JPEG_SUBJECTS_MAX pictures at once, fewer of large ones.
 */
#ifndef BURIN_JPEG_SUBJECTS_H
#define BURIN_JPEG_SUBJECTS_H

#include "tests/bench/burin-bench/jpeg_batches.h"

enum { JPEG_SUBJECTS_MAX = 12 };

enum jpeg_kind { JPEG_KIND_GRAY, JPEG_KIND_420, JPEG_KIND_422, JPEG_KIND_444, JPEG_KINDS };
extern const char *const jpeg_kind_names[JPEG_KINDS]; /* "gray", "4:2:0"... */

/* RGB of one size, from which subjects of every sampling and quality are made. */
struct jpeg_scenes {
    int count;
    struct image all[JPEG_SUBJECTS_MAX];
};

/* FOLDER: of photographs; NULL: scenes are drawn. STATUS_NOT_AN_IMAGE where it has none. */
enum status jpeg_scenes_make(struct jpeg_scenes *scenes, const char *folder, uint32_t width,
                             uint32_t height, struct failure *failure);
void jpeg_scenes_release(struct jpeg_scenes *scenes);

struct jpeg_subjects {
    int count;
    struct jpeg_subject all[JPEG_SUBJECTS_MAX];
};

/* OP may be NULL: nothing is worked. It keeps the shape. */
enum status jpeg_subjects_make(struct jpeg_subjects *subjects, const struct jpeg_scenes *scenes,
                               enum jpeg_kind kind, unsigned quality, const struct op *op,
                               const struct params *params, struct failure *failure);
void jpeg_subjects_release(struct jpeg_subjects *subjects);

/* The sampling in which the CPU codec writes pictures of KIND's colours. */
enum jpeg_kind jpeg_kind_written(enum jpeg_kind kind, unsigned quality);

#endif
