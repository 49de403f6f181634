// SPDX-License-Identifier: Apache-2.0
/* How it works. Each turn has files and pixels of its own, and all turns together are
 * larger than any cache; the decoder's arena, the operator's output, the encoder's scratch and
 * files are the line's. Memory is laid out twice by the same function: first to learn how much it
 * is, then for good. */
#include "tests/bench/burin-bench/jpeg_lines.cuh"

#include "tests/bench/burin-bench/jpeg_operator.cuh"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 256,
    TURNS_MAX = 2048,
    OUT_SPARE = 4096,
    FILE_SPARE = 48, /* bytes between one file and the next one, at most */
    ZEROED_BYTES = CUDA_ZEROED_WORDS * sizeof(uint32_t),
};
static const size_t ROTATED_BYTES = 400 << 20;

static size_t align_up(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- how much memory */

static enum status read_headers(struct jpeg_lines *lines, struct failure *failure) {
    for (int s = 0; jpeg_lines_decode(lines) && s < lines->of->subject_count; s++) {
        const struct jpeg_bytes *file = &lines->of->subjects[s].file;
        struct probe probe;
        enum status status =
            probe_image(file->data, file->length, &codec_limits_default.probe, &probe, failure);
        if (status) return status;
        if (!jpeg_baseline_read_header(file->data, file->length, &probe, &codec_limits_default,
                                       &lines->headers[s]) ||
            !jpeg_picture_init(&lines->pictures[s], &lines->headers[s]))
            return fail(failure, STATUS_INTERNAL, "the GPU does not decode this kind of JPEG");
    }
    return STATUS_OK;
}

/* Sizes the decoder as if every subject of the batch were the one that needs most. */
static enum status size_decoder(struct jpeg_lines *lines, struct failure *failure) {
    const int count = lines->of->batch;
    struct jpeg_picture *all = (struct jpeg_picture *)malloc(count * sizeof *all);
    if (!all) return fail(failure, STATUS_NO_MEMORY, "no memory for descriptions of pictures");
    for (int s = 0; s < lines->of->subject_count; s++) {
        for (int i = 0; i < count; i++) all[i] = lines->pictures[s];
        lines->arena_bytes = std::max(lines->arena_bytes, jpeg_decode_bytes(all, count));
    }
    free(all);
    return STATUS_OK;
}

static struct jpeg_encode_image encode_image(const struct jpeg_lines *lines, uint8_t *pixels) {
    struct jpeg_encode_image image = {};
    image.image = lines->of->subjects[0].pixels;
    image.image.pixels = pixels;
    image.quality = lines->of->quality;
    image.room = SIZE_MAX;
    return image;
}

static enum status size_encoder(struct jpeg_lines *lines, struct failure *failure) {
    const int count = lines->of->batch;
    struct jpeg_encode_image *all = (struct jpeg_encode_image *)malloc(count * sizeof *all);
    if (!all) return fail(failure, STATUS_NO_MEMORY, "no memory for descriptions of pictures");
    for (int i = 0; i < count; i++) all[i] = encode_image(lines, NULL);
    const struct jpeg_encode_needs needs = jpeg_encode_needs(all, count);
    const size_t strings = (3 * lines->pixel_stride + OUT_SPARE) * count;
    lines->scratch_bytes = needs.fixed_bytes + std::min(needs.string_bytes_max, strings);
    lines->encode_pinned_bytes = needs.pinned_bytes;
    lines->out_bytes = std::min<size_t>((align_up(lines->result_bytes_max) + ALIGN) * count,
                                        UINT32_MAX / ALIGN * ALIGN);
    free(all);
    return STATUS_OK;
}

enum status jpeg_lines_size(struct jpeg_lines *lines, struct failure *failure) {
    const struct jpeg_batches *of = lines->of;
    lines->pixel_stride = align_up(image_bytes(&of->subjects[0].pixels));
    for (int s = 0; s < of->subject_count; s++) {
        const size_t result = jpeg_work_result(of->work, &of->subjects[s])->length;
        lines->file_bytes_max = std::max(lines->file_bytes_max, of->subjects[s].file.length);
        lines->result_bytes_max = std::max(lines->result_bytes_max, result);
    }
    const size_t each = (lines->pixel_stride + lines->file_bytes_max) * of->batch * of->streams;
    lines->turns = (int)std::min<size_t>(TURNS_MAX, ROTATED_BYTES / each + 1);
    enum status status = read_headers(lines, failure);
    if (!status && jpeg_lines_decode(lines)) status = size_decoder(lines, failure);
    if (!status && jpeg_lines_encode(lines)) status = size_encoder(lines, failure);
    if (of->work == JPEG_WORK_BOTH) {
        const struct cuda_context context = jpeg_operator_context(of->device, NULL);
        lines->op_scratch_bytes = jpeg_operator_scratch(&context, of);
    }
    return status;
}

/* ---- where it lies */

struct room {
    uint8_t *memory; /* NULL while it is only counted */
    size_t used;
};

static uint8_t *take(struct room *room, size_t bytes) {
    uint8_t *place = room->memory ? room->memory + room->used : NULL;
    room->used += align_up(bytes);
    return place;
}

struct rooms {
    struct room device, pinned, host;
};

static void lay_out_turn(const struct jpeg_lines *lines, struct jpeg_line *line,
                         struct rooms *rooms, struct jpeg_turn *turn) {
    const int count = lines->of->batch;
    turn->pixels = take(&rooms->device, lines->pixel_stride * count);
    turn->decode.count = turn->encode.count = count;
    if (jpeg_lines_decode(lines)) {
        turn->decode.arena = line->arena;
        turn->decode.pictures =
            (struct jpeg_picture *)take(&rooms->pinned, count * sizeof(struct jpeg_picture));
        turn->decode.units =
            (uint32_t *)take(&rooms->pinned, jpeg_decode_units(count) * sizeof(uint32_t));
        turn->decode.facts =
            (struct jpeg_facts *)take(&rooms->pinned, count * sizeof(struct jpeg_facts));
    }
    if (!jpeg_lines_encode(lines)) return;
    turn->images = (struct jpeg_encode_image *)take(&rooms->host, count * sizeof *turn->images);
    turn->encode.images = turn->images;
    turn->encode.scratch = line->scratch;
    turn->encode.scratch_bytes = lines->scratch_bytes;
    turn->encode.pinned = take(&rooms->pinned, lines->encode_pinned_bytes);
    turn->encode.pinned_bytes = lines->encode_pinned_bytes;
    turn->encode.out = line->out;
    turn->encode.out_bytes = lines->out_bytes;
    turn->encode.stream = line->context.stream;
}

/* While rooms are only counted, turns lie elsewhere. */
static void lay_out(const struct jpeg_lines *lines, struct jpeg_line *line, struct rooms *rooms) {
    struct jpeg_turn counted = {};
    line->context.zeroed = (uint32_t *)take(&rooms->device, ZEROED_BYTES);
    line->arena = take(&rooms->device, lines->arena_bytes);
    line->scratch = take(&rooms->device, lines->scratch_bytes);
    line->out = take(&rooms->device, lines->out_bytes);
    line->op_scratch = take(&rooms->device, lines->op_scratch_bytes);
    line->worked = lines->of->work == JPEG_WORK_BOTH
                       ? take(&rooms->device, lines->pixel_stride * lines->of->batch)
                       : NULL;
    line->turns = (struct jpeg_turn *)take(&rooms->host, lines->turns * sizeof(struct jpeg_turn));
    for (int t = 0; t < lines->turns; t++) {
        struct jpeg_turn *turn = line->turns ? &line->turns[t] : &counted;
        turn->first = t * lines->of->batch % lines->of->subject_count;
        lay_out_turn(lines, line, rooms, turn);
    }
}

/* ---- a line's inputs */

/* Files lie at odd places, as in slots. */
static size_t files_bytes(const struct jpeg_lines *lines) {
    return jpeg_lines_decode(lines)
               ? ALIGN + (lines->file_bytes_max + FILE_SPARE) * lines->of->batch * lines->turns
               : 0;
}

static enum status bring_picture(const struct jpeg_lines *lines, struct jpeg_turn *turn, int i,
                                 uint8_t **files, struct failure *failure) {
    const int s = jpeg_turn_subject(lines, turn, i);
    const struct jpeg_subject *subject = &lines->of->subjects[s];
    uint8_t *pixels = turn->pixels + i * lines->pixel_stride;
    if (jpeg_lines_decode(lines)) {
        struct jpeg_picture *picture = &turn->decode.pictures[i];
        *picture = lines->pictures[s];
        CUDA_TRY(failure, cudaMemcpy(*files, subject->file.data, subject->file.length,
                                     cudaMemcpyHostToDevice));
        picture->scan = *files + (lines->headers[s].scan - subject->file.data);
        picture->into = subject->pixels;
        picture->into.pixels = pixels;
        *files += (subject->file.length + 31) / 16 * 16 + (unsigned)i % 16;
    } else {
        CUDA_TRY(failure, cudaMemcpy(pixels, subject->pixels.pixels, image_bytes(&subject->pixels),
                                     cudaMemcpyHostToDevice));
    }
    return STATUS_OK;
}

static enum status bring_inputs(const struct jpeg_lines *lines, struct jpeg_line *line,
                                uint8_t *files, struct failure *failure) {
    enum status status = STATUS_OK;
    for (int t = 0; !status && t < lines->turns; t++) {
        struct jpeg_turn *turn = &line->turns[t];
        uint8_t *const source = line->worked ? line->worked : turn->pixels;
        for (int i = 0; !status && i < lines->of->batch; i++) {
            status = bring_picture(lines, turn, i, &files, failure);
            if (jpeg_lines_encode(lines))
                turn->images[i] = encode_image(lines, source + i * lines->pixel_stride);
        }
    }
    return status;
}

enum status jpeg_line_open(const struct jpeg_lines *lines, struct jpeg_line *line,
                           struct failure *failure) {
    struct rooms rooms = {};
    CUDA_TRY(failure, cudaStreamCreateWithFlags(&line->context.stream, cudaStreamNonBlocking));
    const cudaStream_t stream = line->context.stream;
    line->context = jpeg_operator_context(lines->of->device, stream);
    CUDA_TRY(failure, cudaEventCreateWithFlags(&line->end, cudaEventDisableTiming));
    if (jpeg_lines_encode(lines)) {
        const enum status status = jpeg_encoder_create(&line->encoder, failure);
        if (status) return status;
    }
    lay_out(lines, line, &rooms);
    const size_t device_bytes = rooms.device.used, files = files_bytes(lines);
    CUDA_TRY(failure, cudaMalloc((void **)&line->device, device_bytes + files));
    CUDA_TRY(failure, cudaMallocHost((void **)&line->pinned, rooms.pinned.used + ALIGN));
    line->host = (uint8_t *)calloc(1, rooms.host.used);
    if (!line->host) return fail(failure, STATUS_NO_MEMORY, "no memory for a stream's batches");
    rooms = { { line->device, 0 }, { line->pinned, 0 }, { line->host, 0 } };
    lay_out(lines, line, &rooms);
    CUDA_TRY(failure, cudaMemset(line->context.zeroed, 0, ZEROED_BYTES));
    return bring_inputs(lines, line, line->device + device_bytes + ALIGN, failure);
}

void jpeg_line_close(struct jpeg_line *line) {
    if (line->context.stream) cudaStreamSynchronize(line->context.stream);
    jpeg_encoder_destroy(line->encoder);
    cudaFree(line->device);
    cudaFreeHost(line->pinned);
    free(line->host);
    if (line->end) cudaEventDestroy(line->end);
    if (line->context.stream) cudaStreamDestroy(line->context.stream);
}

/* ---- a batch */

enum status jpeg_line_queue(const struct jpeg_lines *lines, struct jpeg_line *line,
                            struct failure *failure) {
    struct jpeg_turn *turn = &line->turns[line->next];
    enum status status = STATUS_OK;
    line->next = (line->next + 1) % lines->turns;
    if (jpeg_lines_decode(lines))
        status = jpeg_decode_queue(&line->context, &turn->decode, failure);
    if (!status && line->worked)
        status = jpeg_operator_run(&line->context, lines->of, turn->pixels, line->worked,
                                   lines->pixel_stride, line->op_scratch, lines->op_scratch_bytes,
                                   failure);
    if (!status && jpeg_lines_encode(lines))
        status = jpeg_encode_launch(line->encoder, &turn->encode, failure);
    return status;
}

enum status jpeg_line_wait(const struct jpeg_line *line, struct failure *failure) {
    CUDA_TRY(failure, cudaStreamSynchronize(line->context.stream));
    return STATUS_OK;
}
