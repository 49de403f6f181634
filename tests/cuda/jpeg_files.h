// SPDX-License-Identifier: Apache-2.0
/* jpeg_files.h - JPEGs for the tests of the GPU's decoder, made by libjpeg, and what the CPU's
 * codec makes of them.
 *
 * Owns: a sample its file and its pixels; sample_free gives them back.
 */
#ifndef BURIN_JPEG_FILES_H
#define BURIN_JPEG_FILES_H

#include "pipeline/device.h"
#include "tests/pipeline/codec_make.h"

/* Sampling factors of luma and of chroma, and what that comes to. Gray told as 2x2 is not among
 * them: the hardware leaves its plane untouched (H200, nvJPEG 13.0.1), so device_jpeg_of refuses
 * it.
 */
struct kind {
    const char *name;
    int channels, h, v, chroma_h, chroma_v;
    uint8_t across, down;
};

static const struct kind kinds[] = {
    { "gray", 1, 1, 1, 0, 0, 1, 1 },
    { "4:4:4", 3, 1, 1, 1, 1, 1, 1 },
    { "4:2:2", 3, 2, 1, 1, 1, 2, 1 },
    { "4:2:0", 3, 2, 2, 1, 1, 2, 2 },
};
enum { KINDS = sizeof kinds / sizeof *kinds, GRAY = 0, HALVED = 3 };

struct recipe {
    const struct kind *kind;
    uint32_t width, height;
    int quality, restart; /* MCUs from marker to marker; 0: none */
    bool optimized, progressive, noise;
    uint8_t orientation; /* 0: 1 */
};

/* One file, and what the codec makes of it. */
struct sample {
    struct recipe recipe;
    struct bytes file;
    struct device_jpeg jpeg;
    struct image wanted;
};

static inline struct bytes encode(const struct recipe *recipe, const struct image *image) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long length = 0;
    const struct kind *kind = recipe->kind;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &data, &length);
    cinfo.image_width = recipe->width;
    cinfo.image_height = recipe->height;
    cinfo.input_components = kind->channels;
    cinfo.in_color_space = kind->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, recipe->quality, TRUE);
    for (int c = 0; c < kind->channels; c++) {
        cinfo.comp_info[c].h_samp_factor = c ? kind->chroma_h : kind->h;
        cinfo.comp_info[c].v_samp_factor = c ? kind->chroma_v : kind->v;
    }
    cinfo.restart_interval = (unsigned)recipe->restart;
    cinfo.optimize_coding = recipe->optimized;
    if (recipe->progressive) jpeg_simple_progression(&cinfo);
    jpeg_start_compress(&cinfo, TRUE);
    for (uint32_t y = 0; y < cinfo.image_height; y++) {
        JSAMPROW row = image_row(image, y);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return (struct bytes){ data, length };
}

/* The codec turns by what the probe says; the file carries no EXIF. */
static inline void decode_here(struct sample *sample) {
    struct probe probe;
    struct failure failure;
    uint32_t notes = 0;
    assert_int_equal(probe_image(sample->file.data, sample->file.length,
                                 &codec_limits_default.probe, &probe, &failure),
                     STATUS_OK);
    const bool turned = sample->jpeg.orientation >= 5;
    probe.orientation = sample->jpeg.orientation;
    probe.shape = image_shape(turned ? probe.height : probe.width,
                              turned ? probe.width : probe.height, probe.shape.channels, 8);
    sample->wanted =
        new_image(probe.shape.width, probe.shape.height, probe.shape.channels, probe.shape.depth);
    assert_int_equal(codec_decode(sample->file.data, sample->file.length, &probe,
                                  &codec_limits_default, NULL, &sample->wanted, NULL, &notes,
                                  &failure),
                     STATUS_OK);
}

/* `jpeg.into` has no memory yet. */
static inline struct sample make(const struct recipe *recipe) {
    const struct kind *kind = recipe->kind;
    const unsigned channels = (unsigned)kind->channels;
    struct sample sample = { .recipe = *recipe };
    struct image image = recipe->noise
                             ? new_noise(recipe->width, recipe->height, channels, 8, recipe->width)
                             : new_waves(recipe->width, recipe->height, channels);
    sample.file = encode(recipe, &image);
    free(image.pixels);
    sample.jpeg.bytes = sample.file.data;
    sample.jpeg.length = sample.file.length;
    sample.jpeg.width = recipe->width;
    sample.jpeg.height = recipe->height;
    sample.jpeg.orientation = recipe->orientation ? recipe->orientation : 1;
    sample.jpeg.across = kind->across;
    sample.jpeg.down = kind->down;
    decode_here(&sample);
    sample.jpeg.into = sample.wanted;
    sample.jpeg.into.pixels = NULL;
    return sample;
}

static inline void sample_free(struct sample *sample) {
    free(sample->file.data);
    free(sample->wanted.pixels);
}

static inline void name_sample(const struct sample *sample, char name[128]) {
    const struct recipe *recipe = &sample->recipe;
    snprintf(name, 128, "%s %u x %u, quality %d, restart %d, orientation %u%s%s%s",
             recipe->kind->name, recipe->width, recipe->height, recipe->quality, recipe->restart,
             sample->jpeg.orientation, recipe->optimized ? ", optimized" : "",
             recipe->progressive ? ", progressive" : "", recipe->noise ? ", noise" : "");
}

/* Number I of many that differ in size, sampling and orientation. */
static inline struct sample make_mixed(int i, bool colour) {
    return make(&(struct recipe){ .kind = colour ? &kinds[1 + i % 3] : &kinds[GRAY],
                                  .width = 64 + (uint32_t)(i * 77 % 500),
                                  .height = 64 + (uint32_t)(i * 131 % 400),
                                  .quality = 60 + i % 39,
                                  .restart = i % 5 ? 0 : 7,
                                  .noise = i & 1,
                                  .orientation = (uint8_t)(1 + i % 8) });
}

/* Makes of SAMPLE's file one whose header is sound and whose scan is not: bytes changed, or all cut
 * off behind the middle. */
static inline void damage(struct sample *sample, int how, uint32_t *random) {
    uint8_t *bytes = sample->file.data, *head = memmem(bytes, sample->file.length, "\xff\xda", 2);
    assert_non_null(head);
    const size_t start = (size_t)(head - bytes) + 2 + head[3];
    const size_t room = sample->file.length - 2 - start;
    for (int i = 0; i < 1 + how % 9; i++)
        bytes[start + next_random(random) % room] = (uint8_t)next_random(random);
    if (how % 4) return;
    memcpy(bytes + start + room / 2, "\xff\xd9", 2);
    sample->jpeg.length = start + room / 2 + 2;
}

#endif
