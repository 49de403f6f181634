// SPDX-License-Identifier: Apache-2.0
/* twin_device.h - the CPU as a device that takes whole files, by the twins of the GPU's codec: so
 * that the way of files through a batch is tested where there is no GPU.
 *
 * How it works. A lane of device_cpu gets another driver. Host memory is apart from the device's
 * and of exactly the bytes that are copied, everything is filled with 0xa5 when it is reserved, and
 * `work` is written over between the codec and the operators: what is read that nobody has written
 * shows. Verdicts and files come in `finish`, not before.
 */
#ifndef BURIN_TESTS_TWIN_DEVICE_H
#define BURIN_TESTS_TWIN_DEVICE_H

#include "pipeline/codecs/heic/still.h"
#include "pipeline/run.h"
#include "tests/twins/jpeg_parallel.h"
#include "tests/twins/jpeg_tiles.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TWIN_GUARD = 0xa5, TWIN_SCRATCH = 5000, TWIN_PROFILE_MAX = 16 << 10 };

/* Counts of the batches since it was cleared; and the failures that it simulates. */
static struct twin_device {
    uint8_t *host_in, *host_out;
    struct lane_need need;
    struct lane_decoding *decodings;
    struct lane_encoding *encodings;
    uint32_t flags[RUN_BATCH_MAX];
    uint8_t *files[RUN_BATCH_MAX];
    size_t lengths[RUN_BATCH_MAX];
    int decoding_count, encoding_count;
    int batches, decoded, encoded;
    size_t uploaded, downloaded;
    size_t room;                         /* of a file on the device; 0: any */
    size_t cut;                          /* bytes that a file lacks at its end */
    void (*at_finish)(void);             /* of every batch; may be NULL */
    enum status decode_fails, run_fails; /* with this */
    enum status reserve_fails;           /* with this */
    bool refuses_stills;                 /* as an engine does that finds damage */
    double queue_ms;                     /* of each still, for the engine */
    int stills;                          /* decoded */
    int looked_at;                       /* headers that were read */
    int reserves;                        /* how often memory was asked for */
    int waits;   /* the next reserves that wait for memory until one is over */
    int wait_ms; /* before reserve_fails is returned */
} twin_device;

/* Memory that other lanes have. */
static enum status twin_wait(const struct lane_need *need, struct failure *failure) {
    enum status status = STATUS_OK;
    twin_device.reserves++;
    if (twin_device.reserve_fails) {
        usleep((useconds_t)twin_device.wait_ms * 1000);
        return (fail)(failure, twin_device.reserve_fails, "other jobs kept the memory");
    }
    if (twin_device.waits == 0) return STATUS_OK;
    for (twin_device.waits--; !status; status = need->wait.check(need->wait.context)) usleep(1000);
    return (fail)(failure, status, "the wait for memory is over");
}

static enum status twin_reserve(struct lane *lane, const struct lane_need *need,
                                struct failure *failure) {
    enum status status = twin_wait(need, failure);
    if (!status) status = device_cpu.reserve(lane, need, failure);
    if (status) return status;
    const size_t host_in = need->in - need->device_in;
    if (need->keep && host_in > twin_device.need.in - twin_device.need.device_in) abort();
    if (!need->keep) {
        free(twin_device.host_in);
        twin_device.host_in = aligned_alloc(256, host_in + 256);
        memset(twin_device.host_in, TWIN_GUARD, host_in);
        if (need->in) memset(lane->in, TWIN_GUARD, need->in);
    }
    free(twin_device.host_out);
    twin_device.need = *need;
    lane->host_in = twin_device.host_in;
    lane->host_out = twin_device.host_out = aligned_alloc(256, need->out - need->device_out + 256);
    memset(lane->host_out, TWIN_GUARD, need->out - need->device_out);
    if (need->work) memset(lane->work, TWIN_GUARD, need->work);
    if (need->out) memset(lane->out, TWIN_GUARD, need->out);
    return STATUS_OK;
}

static enum status twin_upload(struct lane *lane, size_t bytes, struct failure *failure) {
    (void)failure;
    if (bytes > twin_device.need.in - twin_device.need.device_in) abort();
    if (bytes) memcpy(lane->in, lane->host_in, bytes);
    twin_device.uploaded += bytes;
    twin_device.decoding_count = twin_device.encoding_count = 0;
    return STATUS_OK;
}

static enum status twin_download(struct lane *lane, size_t bytes, struct failure *failure) {
    (void)failure;
    if (bytes > twin_device.need.out - twin_device.need.device_out) abort();
    if (bytes) memcpy(lane->host_out, lane->out, bytes);
    twin_device.downloaded += bytes;
    return STATUS_OK;
}

static size_t twin_decode_bytes(const struct jpeg_baseline *jpeg) {
    struct jpeg_picture picture;
    twin_device.looked_at++;
    return jpeg_picture_init(&picture, jpeg) ? jpeg_picture_bytes(&picture) : 0;
}

static size_t twin_still_bytes(const struct heic_still *still) {
    (void)still;
    return TWIN_SCRATCH;
}

/* A HEIC is a batch, by the CPU's codec. */
static enum status twin_decode_still(struct lane *lane, struct lane_decoding *decoding, int count) {
    const struct heic_still *still = decoding->heic;
    struct probe probe;
    uint32_t notes = 0;
    if (count != 1 || TWIN_SCRATCH > twin_device.need.work) abort();
    memset(lane->work, TWIN_GUARD, TWIN_SCRATCH);
    decoding->refused =
        twin_device.refuses_stills ||
        probe_image(still->bytes, still->length, &codec_limits_default.probe, &probe, NULL) ||
        codec_decode(still->bytes, still->length, &probe, &codec_limits_default, NULL,
                     &decoding->into, NULL, &notes, NULL);
    decoding->queue_ms = twin_device.queue_ms;
    twin_device.stills++;
    return STATUS_OK;
}

static enum status twin_decode(struct lane *lane, struct lane_decoding *decodings, int count,
                               struct failure *failure) {
    uint8_t *arena = lane->work;
    if (decodings->heic) return twin_decode_still(lane, decodings, count);
    if (twin_device.decode_fails)
        return (fail)(failure, twin_device.decode_fails, "the decoder's launch was refused");
    for (int i = 0; i < count; i++) {
        struct jpeg_picture picture;
        if (!jpeg_picture_init(&picture, decodings[i].jpeg)) abort();
        jpeg_picture_place(&picture, arena);
        arena += jpeg_picture_bytes(&picture);
        if (arena > lane->work + twin_device.need.work) abort();
        picture.into = decodings[i].into;
        twin_device.flags[i] = jpeg_parallel_decode(&picture, &jpeg_division_default);
        decodings[i].refused = !twin_device.flags[i]; /* the wrong way round, until finish */
    }
    twin_device.decodings = decodings;
    twin_device.decoding_count = count;
    twin_device.decoded += count;
    memset(lane->work, TWIN_GUARD, twin_device.need.work);
    return STATUS_OK;
}

static size_t twin_encode_bytes(const struct lane_encoding *encoding) {
    const struct image *image = &encoding->image;
    const bool takes = image->depth == 8 && !image_has_alpha(image) && image->width <= 65500 &&
                       image->height <= 65500 && encoding->quality >= 1 &&
                       encoding->quality <= 100 &&
                       carried_bytes(&encoding->carried) <= TWIN_PROFILE_MAX;
    return takes ? TWIN_SCRATCH : 0;
}

static void twin_encode_one(const struct lane_encoding *encoding, int place) {
    const size_t room = codec_encode_bound(&encoding->image, NULL, FORMAT_JPEG);
    const struct carried *carried = &encoding->carried;
    const struct metadata metadata = {
        .profile = (uint8_t *)carried->profile,
        .profile_length = carried->profile_length,
        .texts = { .exif = { [METADATA_KEEP] = (uint8_t *)carried->exif },
                   .exif_length = { [METADATA_KEEP] = carried->exif_length },
                   .xmp = (uint8_t *)carried->xmp,
                   .xmp_length = carried->xmp_length }
    };
    struct encode_options options = encode_options_default;
    uint32_t notes = 0;
    uint8_t *file = malloc(room + carried_bytes(carried) + 1024);
    options.metadata = METADATA_KEEP;
    options.quality = encoding->quality;
    const struct encoding of = { &encoding->image,
                                 &metadata,
                                 &options,
                                 NULL,
                                 file,
                                 room + carried_bytes(carried) + 1024,
                                 &twin_device.lengths[place],
                                 &notes,
                                 NULL };
    twin_device.lengths[place] = 0;
    if (jpeg_tiles_encode(&of) != STATUS_OK || notes) abort();
    twin_device.files[place] = file;
}

static enum status twin_encode(struct lane *lane, struct lane_encoding *encodings, int count,
                               struct failure *failure) {
    (void)failure;
    if ((size_t)count * TWIN_SCRATCH > twin_device.need.work) abort();
    memset(lane->work, TWIN_GUARD, (size_t)count * TWIN_SCRATCH);
    for (int i = 0; i < count; i++) {
        twin_encode_one(&encodings[i], i);
        encodings[i].length = 12345; /* until finish */
    }
    twin_device.encodings = encodings;
    twin_device.encoding_count = count;
    twin_device.encoded += count;
    return STATUS_OK;
}

static void twin_deliver(struct lane_encoding *encoding, const uint8_t *file, size_t length) {
    const size_t room = twin_device.room ? twin_device.room : SIZE_MAX;
    const bool fits = length <= encoding->capacity && length <= room;
    if (fits) memcpy(encoding->bytes, file, length);
    encoding->length = fits ? length - twin_device.cut : 0;
}

static enum status twin_finish(struct lane *lane, struct lane_times *times, struct timing *spans,
                               struct failure *failure) {
    for (int i = 0; i < twin_device.decoding_count; i++)
        twin_device.decodings[i].refused = twin_device.flags[i] != 0;
    for (int i = 0; i < twin_device.encoding_count; i++) {
        twin_deliver(&twin_device.encodings[i], twin_device.files[i], twin_device.lengths[i]);
        free(twin_device.files[i]);
    }
    if (spans && twin_device.decoding_count) timing_span(spans, "walk", SPAN_DECODE, 0.25);
    const enum status status = device_cpu.finish(lane, times, spans, failure);
    if (spans && twin_device.encoding_count) timing_span(spans, "tiles", SPAN_ENCODE, 0.5);
    times->decode_ms = twin_device.decoding_count ? 0.25 : 0;
    times->encode_ms = twin_device.encoding_count ? 0.5 : 0;
    twin_device.decoding_count = twin_device.encoding_count = 0;
    twin_device.batches++;
    if (twin_device.at_finish) twin_device.at_finish();
    return status;
}

static enum status twin_run(struct lane *lane, const struct op *op, struct op_call *calls,
                            int count) {
    if (!twin_device.run_fails) return device_cpu.run(lane, op, calls, count);
    return (fail)(calls[0].failure, twin_device.run_fails, "the operator's launch was refused");
}

static const struct device_codec twin_codec = {
    .decode_bytes = twin_decode_bytes,
    .still_bytes = twin_still_bytes,
    .encode_bytes = twin_encode_bytes,
    .decode = twin_decode,
    .encode = twin_encode,
};

/* LANE is one of device_cpu; a process has one such. */
static inline void twin_device_take(struct lane *lane) {
    static struct device_driver driver;
    driver = device_cpu;
    driver.codec = &twin_codec;
    driver.reserve = twin_reserve;
    driver.kind = "twin";
    driver.run = twin_run;
    driver.upload = twin_upload;
    driver.download = twin_download;
    driver.finish = twin_finish;
    lane->driver = &driver;
}

static inline void twin_device_release(void) {
    free(twin_device.host_in);
    free(twin_device.host_out);
    memset(&twin_device, 0, sizeof twin_device);
}

#endif
