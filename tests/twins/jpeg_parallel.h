// SPDX-License-Identifier: Apache-2.0
/* jpeg_parallel.h - the CPU's twin of a GPU's JPEG decoder: the same steps over the same memory,
 * one thread of the GPU after the other.
 *
 * It is no faster than libjpeg: it is there so that the method is tested where there is no GPU, and
 * by sanitizers and fuzzers.
 *
 * Used by:  tests and fuzzers.
 * Fails:    flags of enum jpeg_flag: the samples are libjpeg's, or the flags are not 0.
 * Threads:  any; a picture is one thread's.
 */
#ifndef BURIN_JPEG_PARALLEL_H
#define BURIN_JPEG_PARALLEL_H

#include "pipeline/codecs/jpeg/picture.h"

/* How the subsequences are divided; the result is the same for any. */
struct jpeg_division {
    uint32_t threads; /* of a block */
    uint32_t run;     /* subsequences that a thread decodes on end */
    uint32_t lead;    /* subsequences that a block decodes before its own; < threads x run */
    uint32_t rounds;  /* after which a picture is hard */
    /* Or, not 0, if the picture is fit for it: no walk, but each subsequence of 2^short_log2 bits
     * from all phases, after `phase_lead` others, and `phase_rounds` rounds of continuing. */
    uint32_t short_log2, phase_lead, phase_rounds;
};
extern const struct jpeg_division jpeg_division_default;

/* PICTURE has its arena, and `into` its pixels. Returns facts->flags. */
uint32_t jpeg_parallel_decode(struct jpeg_picture *picture, const struct jpeg_division *division);

/* The steps, in this order; what they leave is in the arena. */
void jpeg_parallel_unstuff(struct jpeg_picture *picture);
void jpeg_parallel_walk(struct jpeg_picture *picture, const struct jpeg_division *division);
void jpeg_parallel_join(struct jpeg_picture *picture);
void jpeg_parallel_write(struct jpeg_picture *picture, const struct jpeg_division *division);
void jpeg_parallel_inverse(struct jpeg_picture *picture);
void jpeg_parallel_pixels(struct jpeg_picture *picture);

#endif
