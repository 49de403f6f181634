// SPDX-License-Identifier: Apache-2.0
/* burin bench histeq: the table of works 1 and 2 - histogram, table and apply, copies, total - by
 * size, for the CPU and every GPU. */
#include "server/bench/bench.h"

#include "pipeline/codec.h"
#include "server/bench/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One picture to measure on: noise, or a file's pixels. */
struct subject {
    char name[48];
    struct image shape;
    struct image pixels; /* of a file; heap */
};

static const struct {
    const char *name;
    uint32_t width, height;
} sizes[] = { { "1080p", 1920, 1080 },
              { "4K", 3840, 2160 },
              { "8K", 7680, 4320 },
              { "64 MP", 8192, 8192 },
              { "263 MP", 20000, 13176 } };

/* Null where no kernel does that step alone. */
static json_t *step_json(const struct bench_times *times, const char *name) {
    for (int i = 0; i < times->span_count; i++)
        if (strcmp(times->spans[i].name, name) == 0) return json_real(times->spans[i].ms);
    return json_null();
}

/* A GPU's kernel for 16 bit calls it so. */
static json_t *histogram_json(const struct bench_times *times) {
    json_t *count = step_json(times, "count");
    return json_is_null(count) ? step_json(times, "histogram") : count;
}

static void draw_file(const struct image *image, const void *context) {
    const struct image *pixels = context;
    for (uint32_t y = 0; y < image->height; y++)
        memcpy(image_row(image, y), image_row(pixels, y), image_row_bytes(image));
}

/* Read twice, written once. */
static double gigabytes_a_second(const struct image *shape, double ms) {
    return 3 * (double)image_row_bytes(shape) * shape->height / (ms * 1e6);
}

static void tell_row(json_t *rows, const struct subject *subject, const struct bench_lane *lane,
                     const struct bench_times *times, double cpu_total) {
    const double total = times->upload + times->compute + times->download;
    const double pixels = (double)image_pixels(&subject->shape);
    json_array_append_new(
        rows,
        json_pack(
            "{s:s, s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
            "picture", subject->name, "width", (int)subject->shape.width, "height",
            (int)subject->shape.height, "channels", subject->shape.channels, "depth",
            subject->shape.depth, "device", lane->name, "histogram_ms", histogram_json(times),
            "table_ms", step_json(times, "table"), "apply_ms", step_json(times, "apply"),
            "compute_ms", times->compute, "upload_ms", times->upload, "download_ms",
            times->download, "total_ms", total, "gpx_s", pixels / (times->compute * 1e6), "gb_s",
            gigabytes_a_second(&subject->shape, times->compute), "ratio",
            cpu_total > 0 ? cpu_total / total : 1.0));
}

static void print_step(const json_t *ms, int width) {
    if (json_is_null(ms))
        printf(" %*s", width, "-");
    else
        printf(" %*.3f", width, json_number_value(ms));
}

static void print_row(const json_t *row) {
#define NUMBER(key) json_number_value(json_object_get(row, key))
#define TEXT(key)   json_string_value(json_object_get(row, key))
    printf("%-14.14s %5.0fx%-5.0f %1.0f %-13.13s", TEXT("picture"), NUMBER("width"),
           NUMBER("height"), NUMBER("channels"), TEXT("device"));
    print_step(json_object_get(row, "histogram_ms"), 9);
    print_step(json_object_get(row, "table_ms"), 8);
    print_step(json_object_get(row, "apply_ms"), 9);
    printf(" %9.3f %9.3f %9.3f %9.3f %7.1f %7.2f %6.1f\n", NUMBER("compute_ms"),
           NUMBER("upload_ms"), NUMBER("download_ms"), NUMBER("total_ms"), NUMBER("gb_s"),
           NUMBER("gpx_s"), NUMBER("ratio"));
#undef NUMBER
#undef TEXT
}

static void print_legend(const json_t *rows) {
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        if (!json_is_null(json_object_get(row, "histogram_ms"))) continue;
        printf("-: one kernel does histogram, table and apply; its time is under compute\n");
        return;
    }
}

/* A lane's row. EXPECTED has no pixels where the others are held against this lane's result. */
static bool measure_lane(const struct bench_options *options, const struct bench_lane *lane,
                         const struct subject *subject, const struct image *expected,
                         double *cpu_total, json_t *rows) {
    struct plan plan;
    struct bench_times times;
    struct failure failure = { 0 };
    if (plan_parse(&plan, "histeq", &failure) ||
        bench_measure(lane->lane, &plan, subject->shape,
                      subject->pixels.pixels ? draw_file : bench_noise, &subject->pixels,
                      options->repeats, &times, &failure) ||
        bench_check(lane, expected, &failure)) {
        fprintf(stderr, "burin bench: %s on %s: %s\n", subject->name, lane->name, failure.message);
        return false;
    }
    if (!lane->gpu && *cpu_total == 0) *cpu_total = times.compute;
    tell_row(rows, subject, lane, &times, *cpu_total);
    if (!options->json) print_row(json_array_get(rows, json_array_size(rows) - 1));
    return true;
}
/* The subject equalized by straightforward C, heap; NULL: no memory. */
static uint8_t *plain_pixels(const struct subject *subject) {
    struct image image = subject->shape;
    image.pixels = malloc(image_bytes(&image));
    if (!image.pixels) return NULL;
    (subject->pixels.pixels ? draw_file : bench_noise)(&image, &subject->pixels);
    plain_histeq(&image);
    return image.pixels;
}

static bool measure(const struct bench_options *options, const struct bench_lane *lanes, int count,
                    const struct subject *subject, json_t *rows) {
    const bool both = bench_has_both(lanes, count);
    uint8_t *plain = both ? NULL : plain_pixels(subject);
    struct image expected = subject->shape;
    double cpu_total = 0;
    bool good = both || plain;
    if (!good) fprintf(stderr, "burin bench: no memory to check %s\n", subject->name);
    expected.pixels = plain;
    for (int i = 0; i < count && (expected.pixels || (both && i == 0)); i++) {
        good &= measure_lane(options, &lanes[i], subject, &expected, &cpu_total, rows);
        if (both && i == 0 && good) expected.pixels = lanes[0].lane->host_out;
    }
    free(plain);
    return good;
}

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        *length = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*length + 1);
        if (bytes && fread(bytes, 1, *length, file) != *length) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file) fclose(file);
    return bytes;
}

static bool load(struct subject *subject, const char *path) {
    struct failure failure = { .message = "cannot be read" };
    struct probe probe;
    struct metadata metadata = { 0 };
    size_t length = 0;
    uint32_t notes = 0;
    uint8_t *bytes = read_file(path, &length);
    const char *slash = strrchr(path, '/');
    *subject = (struct subject){ .pixels = { 0 } };
    snprintf(subject->name, sizeof subject->name, "%s", slash ? slash + 1 : path);
    bool good = bytes && !probe_image(bytes, length, &codec_limits_default.probe, &probe, &failure);
    if (good) {
        subject->shape = subject->pixels = probe.shape;
        subject->pixels.pixels = malloc(image_bytes(&probe.shape));
        good = subject->pixels.pixels &&
               !codec_decode(bytes, length, &probe, &codec_limits_default, NULL, &subject->pixels,
                             &metadata, &notes, &failure);
    }
    if (!good) fprintf(stderr, "burin bench: %s: %s\n", path, failure.message);
    metadata_release(&metadata);
    free(bytes);
    return good;
}

static bool measure_files(const struct bench_options *options, const struct bench_lane *lanes,
                          int count, json_t *rows) {
    struct subject subject;
    bool good = true;
    for (int f = 0; f < options->file_count; f++) {
        good &= load(&subject, options->files[f]) && measure(options, lanes, count, &subject, rows);
        free(subject.pixels.pixels);
    }
    return good;
}

static bool measure_sizes(const struct bench_options *options, const struct bench_lane *lanes,
                          int count, json_t *rows) {
    bool good = true;
    for (unsigned channels = 1; channels <= 3; channels += 2)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct subject subject = { .shape = image_shape(sizes[s].width, sizes[s].height,
                                                            channels, 8) };
            snprintf(subject.name, sizeof subject.name, "%s", sizes[s].name);
            if (!options->pixels_max || (long)image_pixels(&subject.shape) <= options->pixels_max)
                good &= measure(options, lanes, count, &subject, rows);
        }
    return good;
}

static bool measure_all(const struct bench_options *options, struct bench_lane *lanes, int count,
                        json_t *rows) {
    if (!options->json)
        printf("%-14s %-11s %s %-13s %9s %8s %9s %9s %9s %9s %9s %7s %7s %6s\n", "picture", "size",
               "c", "device", "histogram", "table", "apply", "compute", "upload", "download",
               "total ms", "GB/s", "Gpx/s", "ratio");
    const bool good =
        (options->file_count ? measure_files : measure_sizes)(options, lanes, count, rows);
    if (!options->json) print_legend(rows);
    return good;
}

static bool takes_files(const struct bench_options *options) {
    (void)options;
    return true;
}

int bench_histeq(int argc, char **argv) {
    return bench_command("histeq", takes_files, measure_all, argc, argv);
}
