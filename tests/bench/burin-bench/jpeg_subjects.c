// SPDX-License-Identifier: Apache-2.0
/* How it works. A scene is drawn or cut once for a size: from a photograph's middle, after as many
 * halvings as leave it large enough; where all are too small they are mirrored. A subject's file is
 * written by libjpeg itself, since our codec has no choice of sampling; its pixels and the files
 * that are expected are our codec's. */
#include "tests/bench/burin-bench/jpeg_subjects.h"

#include "pipeline/codec.h"
#include "tests/bench/burin-bench/jpeg_work.h"
#include "tests/bench/burin-bench/picture.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { LARGE_PIXELS = 4000000, LARGE_MAX = 4, NAMES_MAX = 256, FULL_CHROMA_QUALITY = 95 };

const char *const jpeg_kind_names[JPEG_KINDS] = { "gray", "4:2:0", "4:2:2", "4:4:4" };

enum jpeg_kind jpeg_kind_written(enum jpeg_kind kind, unsigned quality) {
    if (kind == JPEG_KIND_GRAY) return JPEG_KIND_GRAY;
    return quality < FULL_CHROMA_QUALITY ? JPEG_KIND_420 : JPEG_KIND_444;
}

static bool allocate(struct image *image, uint32_t width, uint32_t height, unsigned channels) {
    *image = image_shape(width, height, channels, 8);
    image->pixels = malloc(image_bytes(image));
    if (image->pixels) memset(image->pixels, 0, image_bytes(image)); /* gaps between rows too */
    return image->pixels;
}

/* ---- drawn scenes */

struct waves {
    double *column, *row, *slope; /* of x, of y, of x + 2 y */
};

static bool make_waves(struct waves *waves, uint32_t width, uint32_t height, int seed) {
    waves->column = malloc(width * sizeof(double));
    waves->row = malloc(height * sizeof(double));
    waves->slope = malloc((width + 2 * height) * sizeof(double));
    if (!waves->column || !waves->row || !waves->slope) return false;
    for (uint32_t x = 0; x < width; x++) waves->column[x] = 50 * sin((x + 31.0 * seed) / 97);
    for (uint32_t y = 0; y < height; y++) waves->row[y] = cos((y + 17.0 * seed) / 61);
    for (uint32_t s = 0; s < width + 2 * height; s++)
        waves->slope[s] = 20 * sin((s + 65.0 * seed) / 13);
    return true;
}

static uint8_t clamp_sample(double value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Waves of several lengths, discs with sharp edges, and in places noise. */
static void draw_row(const struct image *image, uint32_t y, const struct waves *waves,
                     uint32_t seed, uint32_t *state) {
    uint8_t *row = image_row(image, y);
    for (uint32_t x = 0; x < image->width; x++) {
        const double wave = waves->column[x] * waves->row[y] + waves->slope[x + 2 * y];
        const int across = (int)((x + 31 * seed) % 90) - 45;
        const int down = (int)((y + 17 * seed) % 70) - 35;
        const bool disc = (x / 90 + y / 70 + seed) % 3 && across * across + down * down < 28 * 28;
        const int rough = (x / 64 + y / 64 + seed) % 2 ? 12 : 2;
        *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5; /* xorshift32 */
        const int noise = (int)(*state >> 24) * rough / 128 - rough;
        for (int c = 0; c < 3; c++)
            row[3 * x + (unsigned)c] =
                clamp_sample(110 + wave * (1 - 0.2 * c) + (disc ? 40 - 25 * c : 0) + noise);
    }
}

static enum status draw_scene(struct image *image, uint32_t width, uint32_t height, int seed,
                              struct failure *failure) {
    struct waves waves = { 0 };
    uint32_t state = 2463534242u + (uint32_t)seed;
    const bool room = allocate(image, width, height, 3) && make_waves(&waves, width, height, seed);
    for (uint32_t y = 0; room && y < height; y++)
        draw_row(image, y, &waves, (uint32_t)seed, &state);
    free(waves.column);
    free(waves.row);
    free(waves.slope);
    return room ? STATUS_OK : fail(failure, STATUS_NO_MEMORY, "no memory for a scene");
}

/* ---- photographs */

/* From the side's middle; from its end on backwards. */
static uint32_t mirror(uint32_t at, uint32_t start, uint32_t side) {
    const uint32_t place = (start + at) % (2 * side);
    return place < side ? place : 2 * side - 1 - place;
}

static void cut(const struct image *photo, const struct image *scene) {
    const uint32_t width = scene->width, height = scene->height;
    uint32_t factor = 1;
    while (photo->width >= 2 * factor * width && photo->height >= 2 * factor * height) factor *= 2;
    const uint32_t columns = photo->width / factor, rows = photo->height / factor;
    const uint32_t left = columns > width ? (columns - width) / 2 : 0;
    const uint32_t top = rows > height ? (rows - height) / 2 : 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t i = 0; i < 3 * width; i++) {
            const uint32_t x = mirror(i / 3, left, columns) * factor;
            const uint32_t first = mirror(y, top, rows) * factor;
            uint32_t sum = 0;
            for (uint32_t k = 0; k < factor * factor; k++)
                sum += image_row(photo, first + k / factor)[3 * (x + k % factor) + i % 3];
            image_row(scene, y)[i] = (uint8_t)(sum / (factor * factor));
        }
}

/* SMALL: whether it may be smaller than the scene. */
static bool cut_photo(struct image *scene, const char *path, uint32_t width, uint32_t height,
                      bool small) {
    struct image photo;
    struct failure failure;
    const bool good = picture_load(&photo, path, &failure) == STATUS_OK && photo.channels == 3 &&
                      photo.depth == 8 &&
                      (small || (photo.width >= width && photo.height >= height)) &&
                      allocate(scene, width, height, 3);
    if (good) cut(&photo, scene);
    free(photo.pixels);
    return good;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_folder(const char *folder, char *names[NAMES_MAX]) {
    int count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < NAMES_MAX;)
        if (entry->d_name[0] != '.') {
            const size_t bytes = strlen(folder) + strlen(entry->d_name) + 2;
            names[count] = malloc(bytes);
            if (names[count]) snprintf(names[count++], bytes, "%s/%s", folder, entry->d_name);
        }
    if (directory) closedir(directory);
    qsort(names, (size_t)count, sizeof *names, by_name);
    return count;
}

static enum status cut_photos(struct jpeg_scenes *scenes, int wanted, const char *folder,
                              uint32_t width, uint32_t height, struct failure *failure) {
    char *names[NAMES_MAX];
    const int count = list_folder(folder, names);
    for (int small = 0; small < 2 && scenes->count == 0; small++)
        for (int i = 0; i < count && scenes->count < wanted; i++)
            if (cut_photo(&scenes->all[scenes->count], names[i], width, height, small))
                scenes->count++;
    for (int i = 0; i < count; i++) free(names[i]);
    return scenes->count ? STATUS_OK
                         : fail(failure, STATUS_NOT_AN_IMAGE,
                                "%.200s has no photograph in colour, 8 bit", folder);
}

enum status jpeg_scenes_make(struct jpeg_scenes *scenes, const char *folder, uint32_t width,
                             uint32_t height, struct failure *failure) {
    const int wanted = (uint64_t)width * height > LARGE_PIXELS ? LARGE_MAX : JPEG_SUBJECTS_MAX;
    enum status status = STATUS_OK;
    *scenes = (struct jpeg_scenes){ 0 };
    if (folder) return cut_photos(scenes, wanted, folder, width, height, failure);
    while (!status && scenes->count < wanted) {
        status = draw_scene(&scenes->all[scenes->count], width, height, scenes->count, failure);
        scenes->count++;
    }
    return status;
}

void jpeg_scenes_release(struct jpeg_scenes *scenes) {
    for (int i = 0; i < scenes->count; i++) free(scenes->all[i].pixels);
    scenes->count = 0;
}

/* ---- subjects */

static void set_sampling(struct jpeg_compress_struct *cinfo, enum jpeg_kind kind) {
    cinfo->comp_info[0].h_samp_factor = kind == JPEG_KIND_420 || kind == JPEG_KIND_422 ? 2 : 1;
    cinfo->comp_info[0].v_samp_factor = kind == JPEG_KIND_420 ? 2 : 1;
}

/* Through plain libjpeg, whose errors end the process: a scene gives it no cause for any. */
static void write_file(const struct image *scene, enum jpeg_kind kind, unsigned quality,
                       struct jpeg_bytes *file) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned long length = 0;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &file->data, &length);
    cinfo.image_width = scene->width;
    cinfo.image_height = scene->height;
    cinfo.input_components = 3;
    cinfo.in_color_space = JCS_RGB;
    jpeg_set_defaults(&cinfo);
    if (kind == JPEG_KIND_GRAY) jpeg_set_colorspace(&cinfo, JCS_GRAYSCALE);
    jpeg_set_quality(&cinfo, (int)quality, TRUE);
    set_sampling(&cinfo, kind);
    jpeg_start_compress(&cinfo, TRUE);
    for (uint32_t y = 0; y < scene->height; y++) {
        JSAMPROW row = image_row(scene, y);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    file->length = length;
}

static enum status encode(const struct image *pixels, unsigned quality, struct jpeg_bytes *file,
                          struct failure *failure) {
    file->length = codec_encode_bound(pixels, NULL, FORMAT_JPEG);
    file->data = malloc(file->length);
    if (!file->data) return fail(failure, STATUS_NO_MEMORY, "no memory for a file");
    return jpeg_work_encode(pixels, quality, file, failure);
}

static enum status work(struct jpeg_subject *subject, unsigned quality, const struct op *op,
                        const struct params *params, struct failure *failure) {
    struct image out;
    if (!allocate(&out, subject->pixels.width, subject->pixels.height, subject->pixels.channels))
        return fail(failure, STATUS_NO_MEMORY, "no memory for pixels");
    enum status status = jpeg_work_operate(op, params, &subject->pixels, &out, failure);
    if (!status) status = encode(&out, quality, &subject->worked, failure);
    free(out.pixels);
    return status;
}

enum status jpeg_subjects_make(struct jpeg_subjects *subjects, const struct jpeg_scenes *scenes,
                               enum jpeg_kind kind, unsigned quality, const struct op *op,
                               const struct params *params, struct failure *failure) {
    enum status status = STATUS_OK;
    *subjects = (struct jpeg_subjects){ .count = scenes->count };
    for (int i = 0; !status && i < scenes->count; i++) {
        struct jpeg_subject *subject = &subjects->all[i];
        const struct image *scene = &scenes->all[i];
        write_file(scene, kind, quality, &subject->file);
        if (!allocate(&subject->pixels, scene->width, scene->height,
                      kind == JPEG_KIND_GRAY ? 1 : 3))
            status = fail(failure, STATUS_NO_MEMORY, "no memory for pixels");
        if (!status) status = jpeg_work_decode(&subject->file, &subject->pixels, failure);
        if (!status) status = encode(&subject->pixels, quality, &subject->encoded, failure);
        if (!status && op) status = work(subject, quality, op, params, failure);
    }
    return status;
}

void jpeg_subjects_release(struct jpeg_subjects *subjects) {
    for (int i = 0; i < subjects->count; i++) {
        free(subjects->all[i].file.data);
        free(subjects->all[i].pixels.pixels);
        free(subjects->all[i].encoded.data);
        free(subjects->all[i].worked.data);
    }
    subjects->count = 0;
}
