// SPDX-License-Identifier: Apache-2.0
/* Animations: the same frames whatever the memory held, never more than were counted; written as a
 * lossless WebP they come back as they were, and as a GIF they can be read again. */
#include "pipeline/animation.h"
#include "pipeline/codecs/codecs.h"
#include "tests/fuzz/codec_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { FRAMES_MAX = 12 };

struct seen {
    const struct image *canvas;
    uint32_t count;
    uint64_t digest, ms;
};

static enum status take(void *context, uint32_t ms) {
    struct seen *seen = context;
    seen->count++;
    seen->digest = seen->digest * 31 + image_digest(seen->canvas);
    seen->ms += ms;
    return STATUS_OK;
}

static enum status decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                          bool damage, uint8_t fill, struct seen *seen) {
    struct image canvas = probe->shape;
    struct codec_limits limits = fuzz_limits;
    struct metadata metadata = { 0 };
    struct failure failure = { .message = "" };
    uint32_t notes = 0;
    canvas.stride = image_row_bytes(&canvas);
    canvas.pixels = malloc(image_bytes(&canvas));
    memset(canvas.pixels, fill, image_bytes(&canvas));
    limits.accept_damage = damage;
    *seen = (struct seen){ .canvas = &canvas };
    const struct frame_sink sink = { take, seen };
    const struct decoding decoding = { bytes,   length,    probe,  &limits, NULL,
                                       &canvas, &metadata, &notes, &failure };
    const enum status status = format_record(probe->format)->decode_frames(&decoding, &sink);
    if (!status != !failure.message[0] || seen->count > probe->frames) abort();
    if (!status && (!seen->count || (seen->count < probe->frames && !damage))) abort();
    if (!status && !damage && notes & NOTE_DAMAGED) abort();
    metadata_release(&metadata);
    free(canvas.pixels);
    return status;
}

static bool count(const uint8_t *bytes, size_t length, struct probe *probe) {
    struct failure failure;
    return !probe_image(bytes, length, &fuzz_limits.probe, probe, &failure) && probe->animated &&
           format_record(probe->format)->probe_frames &&
           !probe_frames(bytes, length, FRAMES_MAX, &fuzz_limits.probe, probe, &failure) &&
           probe->frames;
}

static void write_again(const uint8_t *bytes, size_t length, const struct probe *probe,
                        const struct seen *expected, enum format format) {
    static struct lane *lane;
    static uint8_t room[16 << 20];
    const struct plan plan = { .count = 0 };
    const struct lane_options lane_options = { .staging_bytes = 1 << 20 };
    struct encode_options options = encode_options_default;
    struct timing timing = { .span_count = 0 };
    struct failure failure = { .message = "" };
    struct probe again;
    struct seen seen;
    if (!lane && device_cpu.open(0, &lane_options, &lane, &failure)) abort();
    options.format = format;
    options.lossless = true;
    options.effort = 0;
    struct animation animation = { .file = bytes,
                                   .length = length,
                                   .probe = probe,
                                   .limits = &fuzz_limits,
                                   .plan = &plan,
                                   .encode = &options,
                                   .group_bytes = 1 << 20,
                                   .bytes = room,
                                   .capacity = sizeof room,
                                   .timing = &timing };
    if (animation_run(lane, &animation, &failure)) abort();
    if (!count(room, animation.result_length, &again)) {
        if (expected->count > 1) abort();
        return;
    }
    if (decode(room, animation.result_length, &again, false, 0, &seen)) abort();
    if (seen.count != expected->count || again.plays != probe->plays) abort();
    if (format == FORMAT_WEBP && (seen.digest != expected->digest || seen.ms != expected->ms))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct probe probe;
    struct seen seen, other, kept;
    if (!count(bytes, length, &probe)) return 0;
    const enum status status = decode(bytes, length, &probe, false, 0xff, &seen);
    const enum status same = decode(bytes, length, &probe, false, 0x5a, &other);
    if (status != same || seen.digest != other.digest) abort();
    if (decode(bytes, length, &probe, true, 0, &kept) && !status) abort();
    if (status) return 0;
    if (kept.digest != seen.digest) abort();
    write_again(bytes, length, &probe, &seen, FORMAT_WEBP);
    write_again(bytes, length, &probe, &seen, FORMAT_GIF);
    return 0;
}
