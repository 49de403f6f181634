// SPDX-License-Identifier: Apache-2.0
/* jpeg_lines.cuh - streams with the memory that a lane has, on which batches of JPEGs take turns.
 *
 * Used by:  jpeg_batches.cu.
 * Owns:     a line its memory, stream and encoder, until jpeg_line_close().
 * Fails:    a status and its sentence; what was opened is then to be closed all the same.
 * Threads:  one.
 */
#ifndef BURIN_JPEG_LINES_CUH
#define BURIN_JPEG_LINES_CUH

#include "cuda/codecs/jpeg_decode.h"
#include "cuda/codecs/jpeg_encode.h"
#include "tests/bench/burin-bench/jpeg_batches.h"

enum { JPEG_LINES_SUBJECTS_MAX = 64 };

/* A batch with files and pixels of its own. */
struct jpeg_turn {
    int first;       /* number of its first subject */
    uint8_t *pixels; /* a multiple of `pixel_stride` apart */
    struct jpeg_decode_batch decode;
    struct jpeg_encode_image *images;
    struct jpeg_encode_batch encode;
};

/* A stream with its memory. All turns share all but their files and pixels. */
struct jpeg_line {
    struct cuda_context context;
    struct jpeg_encoder *encoder;
    cudaEvent_t end;
    uint8_t *device, *pinned, *host; /* all of its memory */
    uint8_t *arena, *worked, *scratch, *out;
    void *op_scratch;
    struct jpeg_turn *turns;
    int next; /* turn */
};

/* Common to all streams, with the size of each stream's memory. */
struct jpeg_lines {
    const struct jpeg_batches *of;
    struct jpeg_baseline headers[JPEG_LINES_SUBJECTS_MAX];
    struct jpeg_picture pictures[JPEG_LINES_SUBJECTS_MAX];
    size_t pixel_stride; /* bytes from one picture's pixels to the next one's */
    size_t file_bytes_max, result_bytes_max;
    size_t arena_bytes, op_scratch_bytes, scratch_bytes, out_bytes, encode_pinned_bytes;
    int turns; /* of each line */
    struct jpeg_line all[JPEG_STREAMS_MAX];
};

static inline bool jpeg_lines_decode(const struct jpeg_lines *lines) {
    return lines->of->work != JPEG_WORK_ENCODE;
}

static inline bool jpeg_lines_encode(const struct jpeg_lines *lines) {
    return lines->of->work != JPEG_WORK_DECODE;
}

static inline int jpeg_turn_subject(const struct jpeg_lines *lines, const struct jpeg_turn *turn,
                                    int i) {
    return (turn->first + i) % lines->of->subject_count;
}

/* From `of` alone: what a line needs, and how many turns. */
enum status jpeg_lines_size(struct jpeg_lines *lines, struct failure *failure);

enum status jpeg_line_open(const struct jpeg_lines *lines, struct jpeg_line *line,
                           struct failure *failure);
void jpeg_line_close(struct jpeg_line *line);

/* The next turn. */
enum status jpeg_line_queue(const struct jpeg_lines *lines, struct jpeg_line *line,
                            struct failure *failure);
enum status jpeg_line_wait(const struct jpeg_line *line, struct failure *failure);

#endif
