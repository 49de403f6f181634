// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_damage.h - damaged copies of a photo: what the hardware makes of them beside Burin's own
 * codec, which refuses whatever libjpeg so much as warns of.
 *
 * Kinds: a bit flipped, 16 bytes of noise, a piece cut out, all in the data of the scan; the end
 *        cut off and the marker of the end put back. Such files keep a header and an end that look
 *        sound, so that nothing but decoding tells them from good ones.
 */
#ifndef BURIN_NVJPEG_DAMAGE_H
#define BURIN_NVJPEG_DAMAGE_H

#include "tests/bench/nvjpeg_decoder.h"

enum damage { DAMAGE_BIT, DAMAGE_NOISE, DAMAGE_HOLE, DAMAGE_CUT, DAMAGES };

static const char *const damages[DAMAGES] = { "a bit", "16 bytes", "a hole", "cut off" };

/* How many of the copies: sound or refused here, and by the hardware; equal where both took it. */
struct damage_count {
    int copies, refused_here, refused_there, missed, taken_by_both, equal;
};

/* The first byte behind the last header segment. */
static size_t scan_start(const struct photo *photo) {
    for (size_t i = photo->length - 2; i > 0; i--)
        if (photo->bytes[i] == 0xff && photo->bytes[i + 1] == 0xda)
            return i + 2 + photo->bytes[i + 3];
    die(photo->name, "has no scan");
    return 0;
}

/* COPY has the photo's length or less afterwards. */
static void damage(const struct photo *photo, struct photo *copy, enum damage how) {
    const size_t start = scan_start(photo), room = photo->length - start - 40;
    const size_t at = start + (size_t)rand() % room;
    copy->bytes = take(photo->length);
    copy->length = photo->length;
    memcpy(copy->bytes, photo->bytes, photo->length);
    if (how == DAMAGE_BIT) copy->bytes[at] ^= (uint8_t)(1 << rand() % 8);
    if (how == DAMAGE_NOISE)
        for (int i = 0; i < 16; i++) copy->bytes[at + (size_t)i] = (uint8_t)(rand() % 255);
    if (how == DAMAGE_HOLE) {
        const size_t hole = 1 + (size_t)rand() % 32;
        memmove(copy->bytes + at, copy->bytes + at + hole, photo->length - at - hole);
        copy->length -= hole;
    }
    if (how == DAMAGE_CUT) {
        copy->bytes[at] = 0xff, copy->bytes[at + 1] = 0xd9;
        copy->length = at + 2;
    }
}

static bool sound_here(struct photo *copy) {
    struct failure failure;
    uint32_t notes = 0;
    if (probe_image(copy->bytes, copy->length, &codec_limits_default.probe, &copy->probe, &failure))
        return false;
    copy->probe.orientation = 1;
    copy->probe.shape =
        image_shape(copy->probe.width, copy->probe.height, copy->probe.shape.channels, 8);
    copy->pixels = take_image(copy->probe.shape);
    return codec_decode(copy->bytes, copy->length, &copy->probe, &codec_limits_default, NULL,
                        &copy->pixels, NULL, &notes, &failure) == STATUS_OK;
}

static bool same_planes(struct gpu *gpu, const struct target *target, const struct photo *copy) {
    struct difference difference = { 0 };
    for (int i = 0; i < PLANES; i++) {
        struct image host = fetch(gpu, &target->image[i]);
        difference_add(&difference, &host, &copy->plane[i]);
        free(host.pixels);
    }
    return difference.off == 0;
}

static void try_damage(struct gpu *gpu, struct decoder *decoder, const struct photo *photo,
                       enum damage how, struct damage_count *count) {
    struct photo copy = { .name = photo->name };
    struct target target;
    damage(photo, &copy, how);
    const bool sound = sound_here(&copy);
    if (sound) look_inside(&copy);
    target_take(gpu, &target, photo->plane, PLANES);
    const struct photo *one = &copy;
    const int status = decode_batch(gpu, decoder, &one, &target, 1, OUTPUT_YUV);
    const int waited = gpu->stream_wait(gpu->stream);
    if (waited) must(gpu, waited, "cuStreamSynchronize after a damaged file");
    count->copies++;
    count->refused_here += !sound;
    count->refused_there += status != 0;
    count->missed += !sound && status == 0;
    count->taken_by_both += sound && status == 0;
    count->equal += sound && status == 0 && same_planes(gpu, &target, &copy);
    target_free(gpu, &target);
    photo_close(&copy);
}

/* COPIES of each kind of damage to each photo in colour, each decoded alone by the hardware. */
static void measure_damage(struct gpu *gpu, const struct photo *photos, int count, int copies) {
    struct decoder decoder = { .backend = BACKEND_HARDWARE };
    must_nvjpeg(decoder_open(gpu, &decoder), "nvjpegCreateEx, the hardware");
    printf("damage     copies  refused here  by hardware  missed by it  taken by both  equal\n");
    for (int how = 0; how < DAMAGES; how++) {
        struct damage_count total = { 0 };
        for (int i = 0; i < count; i++)
            for (int n = 0; n < copies && photos[i].plane[0].pixels; n++)
                try_damage(gpu, &decoder, &photos[i], (enum damage)how, &total);
        printf("%-10s %6d %13d %12d %13d %14d %6d\n", damages[how], total.copies,
               total.refused_here, total.refused_there, total.missed, total.taken_by_both,
               total.equal);
    }
    decoder_close(gpu, &decoder);
}

#endif
