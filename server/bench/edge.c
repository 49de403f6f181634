// SPDX-License-Identifier: Apache-2.0
/* burin bench edge: figure 3 of work 4 - Sobel edges by size on the CPU, on a GPU the textbook ways
 * and the way that is shipped - with and without copies. */
#include "server/bench/bench.h"

#include "cuda/edge_variants.h"
#include "pipeline/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_REPEATS = 3 };

/* That figure's sizes. */
static const struct {
    const char *name;
    uint32_t width, height;
} sizes[] = { { "S", 729, 480 },
              { "M", 1166, 768 },
              { "L", 1639, 1080 },
              { "X", 7881, 5192 },
              { "XX", 20000, 13176 } };

struct subject {
    const char *name;
    struct image picture, expected; /* heap; the latter by straightforward C */
    double plain_ms;
    json_t *rows;
    const struct bench_options *options;
};

/* ---- straightforward C: what the operator is measured against */

static void plain_row(const uint8_t *above, const uint8_t *here, const uint8_t *below, uint8_t *out,
                      uint32_t width) {
    for (uint32_t x = 0; x < width; x++) {
        const uint32_t l = x ? x - 1 : 0, r = x + 1 < width ? x + 1 : x;
        const int gx = above[r] - above[l] + 2 * (here[r] - here[l]) + below[r] - below[l];
        const int gy = below[l] - above[l] + 2 * (below[x] - above[x]) + below[r] - above[r];
        const int root = (int)sqrtf((float)(gx * gx + gy * gy));
        out[x] = (uint8_t)(root < 255 ? root : 255);
    }
}

static void plain_edges(const struct image *in, const struct image *out) {
    for (uint32_t y = 0; y < in->height; y++)
        plain_row(image_row(in, y ? y - 1 : 0), image_row(in, y),
                  image_row(in, y + 1 < in->height ? y + 1 : y), image_row(out, y), in->width);
}

static double plain_ms(const struct subject *subject) {
    double ms[PLAIN_REPEATS];
    for (int i = 0; i < PLAIN_REPEATS; i++) {
        const int64_t start = clock_ns();
        plain_edges(&subject->picture, &subject->expected);
        ms[i] = ns_to_ms(clock_ns() - start);
    }
    return bench_median(ms, PLAIN_REPEATS);
}

/* ---- rows of the table */

static void print_row(const json_t *row) {
#define NUMBER(key) json_number_value(json_object_get(row, key))
#define TEXT(key)   json_string_value(json_object_get(row, key))
    printf("%-3s %5.0fx%-5.0f %-22s %10.3f %9.3f %9.3f %10.3f %8.1f %8.2f %9.1f %8.1f\n",
           TEXT("picture"), NUMBER("width"), NUMBER("height"), TEXT("way"), NUMBER("compute_ms"),
           NUMBER("upload_ms"), NUMBER("download_ms"), NUMBER("total_ms"), NUMBER("gb_s"),
           NUMBER("gpx_s"), NUMBER("compute_ratio"), NUMBER("total_ratio"));
#undef NUMBER
#undef TEXT
}

/* Bytes: each pixel read and written once. */
static void tell(const struct subject *subject, const char *way, double upload, double compute,
                 double download) {
    const double pixels = (double)image_pixels(&subject->picture);
    const double total = upload + compute + download;
    json_array_append_new(
        subject->rows,
        json_pack("{s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "picture",
                  subject->name, "width", (int)subject->picture.width, "height",
                  (int)subject->picture.height, "way", way, "compute_ms", compute, "upload_ms",
                  upload, "download_ms", download, "total_ms", total, "gb_s",
                  2 * pixels / (compute * 1e6), "gpx_s", pixels / (compute * 1e6), "compute_ratio",
                  subject->plain_ms / compute, "total_ratio", subject->plain_ms / total));
    if (!subject->options->json)
        print_row(json_array_get(subject->rows, json_array_size(subject->rows) - 1));
}

static bool measure_operator(const struct subject *subject, const struct bench_lane *lane) {
    struct plan plan;
    struct failure failure = { 0 };
    struct bench_times times;
    plan_parse(&plan, "edge", NULL);
    const struct image shape = image_shape(subject->picture.width, subject->picture.height, 1, 8);
    if (bench_measure(lane->lane, &plan, shape, bench_noise, NULL, subject->options->repeats,
                      &times, &failure) ||
        bench_check(lane, &subject->expected, &failure)) {
        fprintf(stderr, "burin bench: %s on %s: %s\n", subject->name, lane->name, failure.message);
        return false;
    }
    tell(subject, lane->name, times.upload, times.compute, times.download);
    return true;
}

static bool measure_variants(const struct subject *subject, const struct bench_lane *lane) {
    static const char *const names[] = { [EDGE_VARIANT_PLAIN] = "plain",
                                         [EDGE_VARIANT_SHARED] = "shared memory",
                                         [EDGE_VARIANT_SHIPPED] = "shipped" };
    bool good = true;
    int device = 0;
    sscanf(lane->name, "cuda:%d", &device);
    for (int v = EDGE_VARIANT_PLAIN; v <= EDGE_VARIANT_SHIPPED; v++) {
        char way[96];
        struct failure failure = { 0 };
        struct edge_variant_times times;
        snprintf(way, sizeof way, "%.63s %s", lane->name, names[v]);
        if (edge_variant_measure(device, (enum edge_variant)v, &subject->picture,
                                 &subject->expected, subject->options->repeats, &times, &failure)) {
            fprintf(stderr, "burin bench: %s on %s: %s\n", subject->name, way, failure.message);
            good = false;
        } else {
            tell(subject, way, times.upload, times.compute, times.download);
        }
    }
    return good;
}

static bool open_subject(struct subject *subject, uint32_t width, uint32_t height) {
    subject->picture = subject->expected = image_shape(width, height, 1, 8);
    subject->picture.pixels = malloc(image_bytes(&subject->picture));
    subject->expected.pixels = malloc(image_bytes(&subject->expected));
    if (subject->picture.pixels && subject->expected.pixels) return true;
    fprintf(stderr, "burin bench: no memory for %s\n", subject->name);
    return false;
}

static bool measure(struct subject *subject, const struct bench_lane *lanes, int count) {
    bench_noise(&subject->picture, NULL);
    subject->plain_ms = plain_ms(subject);
    tell(subject, "cpu, plain C", 0, subject->plain_ms, 0);
    bool good = true;
    for (int i = 0; i < count; i++) {
        if (lanes[i].gpu) good &= measure_variants(subject, &lanes[i]);
        good &= measure_operator(subject, &lanes[i]);
    }
    return good;
}

static bool measure_all(const struct bench_options *options, struct bench_lane *lanes, int count,
                        json_t *rows) {
    struct subject subject = { .rows = rows, .options = options };
    bool good = true;
    if (!options->json)
        printf("%-15s %-22s %10s %9s %9s %10s %8s %8s %9s %8s\n", "picture", "way", "compute",
               "upload", "download", "total ms", "GB/s", "Gpx/s", "x compute", "x total");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const long pixels = (long)sizes[s].width * (long)sizes[s].height;
        if (options->pixels_max && pixels > options->pixels_max) continue;
        subject.name = sizes[s].name;
        good &= open_subject(&subject, sizes[s].width, sizes[s].height) &&
                measure(&subject, lanes, count);
        free(subject.picture.pixels);
        free(subject.expected.pixels);
    }
    return good;
}

int bench_edge(int argc, char **argv) {
    return bench_command("edge", bench_takes_no_words, measure_all, argc, argv);
}
