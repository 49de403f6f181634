// SPDX-License-Identifier: Apache-2.0
#include "server/worker/self_test.h"

#include "pipeline/codecs/jpeg/baseline.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"

#include <string.h>

enum { SIDE = 64, FILE_MAX = 16 << 10 };

/* Computed in Python from the definition of histeq, and equal to OpenCV's equalizeHist. */
static const uint64_t known_answer = 0xa08757c03a3a16b9u;

/* Squares of the high byte of a linear congruential generator: noise with more dark than light. */
static void draw(const struct image *image) {
    uint32_t state = 1;
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            state = state * 1664525u + 1013904223u;
            image_row(image, y)[x] = (uint8_t)(((state >> 24) * (state >> 24)) >> 8);
        }
}

static enum status test_operator(struct lane *lane, struct failure *failure) {
    struct plan plan;
    enum status status = plan_parse(&plan, "histeq", failure);
    struct run_item item = { .in = image_shape(SIDE, SIDE, 1, 8) };
    if (!status) status = run_reserve(lane, &plan, &item, 1, SIDE * SIDE, failure);
    if (status) return status;
    draw(&item.in);
    status = run_batch(lane, &plan, &item, 1, failure);
    if (status) return status;
    if (image_digest(&item.out) != known_answer)
        return fail(failure, STATUS_DEVICE, "the self-test gave a wrong answer");
    return STATUS_OK;
}

/* ---- the device's codec, beside the CPU's */

struct file {
    uint8_t bytes[FILE_MAX];
    size_t length;
    struct probe probe;
};

static enum status encode(const struct image *image, struct file *file, struct failure *failure) {
    uint32_t notes = 0;
    const enum status status = codec_encode(image, NULL, &encode_options_default, NULL, file->bytes,
                                            FILE_MAX, &file->length, &notes, failure);
    if (status) return status;
    return probe_image(file->bytes, file->length, &codec_limits_default.probe, &file->probe,
                       failure);
}

/* Decodes FILE and encodes it again, with the CPU's codec. */
static enum status encode_again(const struct file *file, struct file *again,
                                struct failure *failure) {
    uint8_t pixels[SIDE * SIDE];
    struct image image = file->probe.shape;
    struct metadata metadata = { 0 };
    uint32_t notes = 0;
    image.pixels = pixels;
    const enum status status =
        codec_decode(file->bytes, file->length, &file->probe, &codec_limits_default, NULL, &image,
                     &metadata, &notes, failure);
    return status ? status : encode(&image, again, failure);
}

/* Decodes FILE and encodes it again into MADE, on the device. */
static enum status recode(struct lane *lane, const struct file *file, struct file *made,
                          struct failure *failure) {
    const struct plan plan = { .count = 0 };
    struct jpeg_baseline jpeg;
    struct run_item item = { .in = file->probe.shape, .jpeg = &jpeg, .want = RUN_FILE };
    item.file = (struct lane_encoding){ .quality = encode_options_default.quality,
                                        .bytes = made->bytes,
                                        .capacity = FILE_MAX };
    if (!jpeg_baseline_read_header(file->bytes, file->length, &file->probe, &codec_limits_default,
                                   &jpeg))
        return fail(failure, STATUS_INTERNAL, "the self-test made a JPEG that it cannot read");
    item.file.image = file->probe.shape;
    item.decode_bytes = lane->driver->codec->decode_bytes(&jpeg);
    item.encode_bytes = lane->driver->codec->encode_bytes(&item.file);
    enum status status = run_reserve(lane, &plan, &item, 1, SIDE * SIDE, failure);
    if (!status) status = run_batch(lane, &plan, &item, 1, failure);
    made->length = item.refused ? 0 : item.file.length;
    return status;
}

static enum status test_codec(struct lane *lane, struct failure *failure) {
    uint8_t pixels[SIDE * SIDE];
    struct image image = image_shape(SIDE, SIDE, 1, 8);
    struct file file, again, made; /* 48 KB */
    if (!lane->driver->codec) return STATUS_OK;
    image.pixels = pixels;
    draw(&image);
    enum status status = encode(&image, &file, failure);
    if (!status) status = encode_again(&file, &again, failure);
    if (!status) status = recode(lane, &file, &made, failure);
    if (status) return status;
    if (made.length != again.length || memcmp(made.bytes, again.bytes, made.length) != 0)
        return fail(failure, STATUS_DEVICE, "the self-test made a wrong JPEG");
    return STATUS_OK;
}

enum status self_test_run(struct lane *lane, struct failure *failure) {
    const enum status status = test_operator(lane, failure);
    return status ? status : test_codec(lane, failure);
}
