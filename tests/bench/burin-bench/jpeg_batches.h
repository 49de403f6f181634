// SPDX-License-Identifier: Apache-2.0
/* jpeg_batches.h - batches of JPEGs in a GPU's memory: decoded, encoded, or decoded, worked on and
 * encoded again, checked against the CPU codec, then timed.
 *
 * Files and pixels are in the GPU's memory before the clock starts, and results stay there.
 *
 * Used by:  jpeg.c. jpeg_batches_none.c stands for it where there is no nvcc.
 * Owns:     nothing after jpeg_batches_measure has returned; subjects are the caller's.
 * Fails:    a status and its sentence: no memory, a device that fails, a result that is not the
 *           CPU codec's. No times are given then.
 * Threads:  one at a time.
 * Limits:   JPEG_BATCH_MAX pictures, JPEG_STREAMS_MAX streams.
 */
#ifndef BURIN_JPEG_BATCHES_H
#define BURIN_JPEG_BATCHES_H

#include "pipeline/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { JPEG_BATCH_MAX = 1024, JPEG_STREAMS_MAX = 8, JPEG_ROUNDS_MAX = 1000 };

enum jpeg_work {
    JPEG_WORK_DECODE, /* files to pixels */
    JPEG_WORK_ENCODE, /* pixels to files */
    JPEG_WORK_BOTH,   /* files to files, with an operator between */
};

/* Bytes of a file. */
struct jpeg_bytes {
    uint8_t *data;
    size_t length;
};

/* One picture and what the CPU codec makes of it. */
struct jpeg_subject {
    struct jpeg_bytes file;    /* is decoded */
    struct image pixels;       /* decoded: 8 bit, 1 or 3 channels; are encoded */
    struct jpeg_bytes encoded; /* the pixels */
    struct jpeg_bytes worked;  /* what the operator makes of the pixels, encoded */
};

struct jpeg_batches {
    int device; /* of CUDA */
    enum jpeg_work work;
    int batch, streams;
    unsigned quality;                    /* of what is encoded */
    const struct jpeg_subject *subjects; /* take turns; of one shape */
    int subject_count;
    const struct op *op; /* of JPEG_WORK_BOTH: one that keeps the shape */
    const struct params *params;
    int rounds;
};

struct jpeg_batches_times {
    double batch_us;   /* a batch in a train of them, by events: the median of all rounds */
    double alone_us;   /* one picture from its launch until the host knows that it is done, by the
                        clock; 0 of larger batches and of several streams */
    double file_bytes; /* the mean file that is read, or written where none is read */
    double difference; /* mean of a sample from the CPU codec's; 0: equal */
};

enum status jpeg_batches_measure(const struct jpeg_batches *batches,
                                 struct jpeg_batches_times *times, struct failure *failure);

/* The file that WORK makes of SUBJECT; decoding makes none. */
static inline const struct jpeg_bytes *jpeg_work_result(enum jpeg_work work,
                                                        const struct jpeg_subject *subject) {
    return work == JPEG_WORK_BOTH ? &subject->worked : &subject->encoded;
}

#ifdef __cplusplus
}
#endif
#endif
