// SPDX-License-Identifier: Apache-2.0
/* burin bench skeletons: one operator of each skeleton, written as a user writes it, by size.
 *
 * How it works. `source` is read and compiled as a file of operators_dir is, kept nowhere, and its
 * operators are added to the registry of this process alone. For each operator and size a serial
 * program is timed first (plain_skeletons.c), then the operator on every lane; a lane's time
 * becomes a row only if its result is that of the serial program. Without a C compiler the CPU's
 * lanes are left out, without libnvrtc the GPUs': the serial rows are always there. Rows without a
 * picture show how long a GPU's kernel takes to be compiled and loaded, and to be loaded from the
 * cache. */
#include "cuda/skeletons/kernel_library.h"
#include "cuda/skeletons/nvrtc.h"
#include "pipeline/registry.h"
#include "pipeline/skeletons/reader.h"
#include "pipeline/skeletons/twin.h"
#include "pipeline/skeletons/twin_cache.h"
#include "pipeline/skeletons/twin_library.h"
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/bench/burin-bench/picture.h"
#include "tests/bench/burin-bench/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERIAL_REPEATS_MAX = 5, COMPILE_REPEATS_MAX = 5 };

/* The first and the last are the paper's code listings 3 and 10 in English. */
static const char source[] =
    "#include <math.h>\n"
    "#STRUCT\n"
    "typedef struct {\n"
    "    int tolerance; // 0 [-255,255] is added before the pixel is compared with 127\n"
    "} data;\n"
    "#P2P_FUNC\n"
    "static unsigned char binarize(unsigned char pixel, int index, data parameter) {\n"
    "    return pixel + parameter.tolerance > 127 ? 255 : 0;\n"
    "}\n"
    "#N2P_FUNC\n"
    "static unsigned char sobel(unsigned char p[3][3], int x, int y) {\n"
    "    int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];\n"
    "    int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];\n"
    "    int root = (int)sqrtf((float)(gx * gx + gy * gy));\n"
    "    return root < 255 ? root : 255;\n"
    "}\n"
    "#R2S_FUNC\n"
    "static T larger(E a, E b) { return a > b ? a : b; }\n"
    "#R2V_FUNC\n"
    "static void count_level(unsigned char pixel, int *counts, int bins) {\n"
    "    atomicAdd(&counts[pixel], 1);\n"
    "}\n";

static const char paper[] =
    "paper: times as fast as its serial program, from the text beside figure 5 of \"Conversão\n"
    "Semi-automática de Algoritmos Sequenciais de Processamento Digital de Imagens para\n"
    "Algoritmos Paralelos em CUDA\", Revista de Empreendedorismo, Inovação e Tecnologia 4 (2),\n"
    "2017: a GeForce GTS 450 beside one core of an Athlon II X3 435; none: about as fast as the\n"
    "CPU, on a picture of sky and grass\n";

struct subject {
    const char *name, *skeleton, *plan, *picture;
    measurement_draw draw;
    uint32_t values_bytes; /* 0: it makes an image */
    void (*serial)(const struct image *in, const struct image *out);
    const char *paper;
};

static const struct subject subjects[] = {
    { "binarize", "P2P", "binarize:tolerance=20", "noise", picture_noise, 0, plain_binarize, "15" },
    { "sobel", "N2P", "sobel", "noise", picture_noise, 0, plain_sobel, "tens" },
    { "maximum", "R2S", "larger", "noise", picture_noise, sizeof(uint32_t), plain_largest, "6" },
    { "histogram", "R2V", "count_level", "two levels", picture_two_levels,
      PLAIN_LEVELS * sizeof(int32_t), plain_counts, "none" },
    { "histogram", "R2V", "count_level", "noise", picture_noise, PLAIN_LEVELS * sizeof(int32_t),
      plain_counts, "none" },
};
_Static_assert(PLAIN_TOLERANCE == 20, "the first plan names it");

static const uint32_t sizes[][2] = { { 1920, 1080 }, { 3840, 2160 }, { 7680, 4320 } };

/* ---- rows */

struct row_context {
    struct report *report;
    const struct subject *subject;
    const struct image *shape;
    const struct measurement *serial;
};

static void print_row(const json_t *row) {
    printf("%-9s %-8s %-10s %4.0fx%-4.0f %-13.13s %9.3f %9.3f %9.3f %9.3f %7.2f %9.1f %7.1f %5s\n",
           report_text(row, "operator"), report_text(row, "skeleton"), report_text(row, "picture"),
           report_number(row, "width"), report_number(row, "height"), report_text(row, "device"),
           report_number(row, "compute_ms"), report_number(row, "upload_ms"),
           report_number(row, "download_ms"), report_number(row, "total_ms"),
           report_number(row, "gpx_s"), report_number(row, "compute_ratio"),
           report_number(row, "total_ratio"), report_text(row, "paper_ratio"));
}

static void print_head(void) {
    printf("%-9s %-8s %-10s %-9s %-13s %9s %9s %9s %9s %7s %9s %7s %5s\n", "operator", "skeleton",
           "picture", "size", "device", "compute", "upload", "download", "total ms", "Gpx/s",
           "x compute", "x total", "paper");
}

static void add_row(const struct row_context *row, const char *device,
                    const struct measurement *times) {
    const struct subject *subject = row->subject;
    const double total = measurement_total_ms(times), pixels = (double)image_pixels(row->shape);
    report_add(row->report,
               json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s}",
                         "operator", subject->name, "skeleton", subject->skeleton, "picture",
                         subject->picture, "width", (int)row->shape->width, "height",
                         (int)row->shape->height, "device", device, "compute_ms", times->compute_ms,
                         "upload_ms", times->upload_ms, "download_ms", times->download_ms,
                         "total_ms", total, "gpx_s", pixels / (times->compute_ms * 1e6),
                         "compute_ratio", row->serial->compute_ms / times->compute_ms,
                         "total_ratio", measurement_total_ms(row->serial) / total, "paper_ratio",
                         subject->paper),
               print_row);
}

/* ---- one operator on one picture */

/* Once more than it is counted: its pages are touched first. */
static struct measurement time_serial(const struct subject *subject, int repeats,
                                      const struct image *in, const struct image *out) {
    double ms[SERIAL_REPEATS_MAX];
    const int count = repeats < SERIAL_REPEATS_MAX ? repeats : SERIAL_REPEATS_MAX;
    for (int i = -1; i < count; i++) {
        const int64_t start = clock_ns();
        subject->serial(in, out);
        if (i >= 0) ms[i] = ns_to_ms(clock_ns() - start);
    }
    return (struct measurement){ .compute_ms = measurement_median(ms, count) };
}

static bool measure_lane(const struct row_context *row, const struct bench_options *options,
                         const struct bench_lane *lane, const struct image *expected) {
    struct plan plan;
    struct measurement times;
    struct failure failure = { 0 };
    const struct subject *subject = row->subject;
    enum status status = plan_parse(&plan, subject->plan, &failure);
    if (!status)
        status = measurement_take(&times, lane->lane, &plan, *row->shape, subject->draw, NULL,
                                  options->repeats, &failure);
    if (!status) status = measurement_check(lane->lane, expected, &failure);
    if (status)
        fprintf(stderr, "%s: %s of %s, %ux%u, on %s: %s\n", options->program, subject->plan,
                subject->picture, row->shape->width, row->shape->height, lane->name,
                failure.message);
    else
        add_row(row, lane->name, &times);
    return !status;
}

/* Whether the operators are compiled for the CPU; why not has been printed. */
static bool on_cpu;

static bool measure_picture(const struct subject *subject, const struct image *shape,
                            const struct bench_options *options, const struct lanes *lanes,
                            struct report *report) {
    struct image in = *shape, out = *shape;
    bool complete = true;
    if (subject->values_bytes) out = image_shape(subject->values_bytes, 1, 1, 8);
    in.pixels = malloc(image_bytes(&in));
    out.pixels = malloc(image_bytes(&out));
    if (!in.pixels || !out.pixels) {
        fprintf(stderr, "%s: no memory for %s of %ux%u\n", options->program, subject->name,
                shape->width, shape->height);
        complete = false;
    } else {
        subject->draw(&in, NULL);
        const struct measurement serial = time_serial(subject, options->repeats, &in, &out);
        const struct row_context row = { report, subject, shape, &serial };
        add_row(&row, "cpu, serial", &serial);
        for (const struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++)
            if (lane->gpu ? !nvrtc_missing() : on_cpu)
                complete &= measure_lane(&row, options, lane, &out);
    }
    free(in.pixels);
    free(out.pixels);
    return complete;
}

/* ---- what compiling takes */

static void print_compile_row(const json_t *row) {
    printf("%-9s %-8s %-13.13s %10.1f %13.2f\n", report_text(row, "operator"),
           report_text(row, "skeleton"), report_text(row, "device"),
           report_number(row, "compile_ms"), report_number(row, "from_cache_ms"));
}

/* The median of a few; -1: it cannot be done, and FAILURE says why. */
static double prepare_ms(struct lane *lane, const struct op *op, int repeats,
                         struct failure *failure) {
    double ms[COMPILE_REPEATS_MAX];
    const int count = repeats < COMPILE_REPEATS_MAX ? repeats : COMPILE_REPEATS_MAX;
    for (int i = 0; i < count; i++) {
        kernel_library_forget();
        const int64_t start = clock_ns();
        if (lane->driver->prepare(lane, op, 8, 1, failure)) return -1;
        ms[i] = ns_to_ms(clock_ns() - start);
    }
    return measurement_median(ms, count);
}

static bool measure_compiling(const struct subject *subject, const struct bench_options *options,
                              const struct bench_lane *lane, const char *cache,
                              struct report *report) {
    struct plan plan;
    struct failure failure = { 0 };
    double compile_ms = -1, from_cache_ms = -1;
    if (!plan_parse(&plan, subject->plan, &failure)) {
        const struct op *op = plan.steps[0].op;
        kernel_library_keep_in(NULL);
        compile_ms = prepare_ms(lane->lane, op, options->repeats, &failure);
        kernel_library_keep_in(cache);
        if (compile_ms >= 0) from_cache_ms = prepare_ms(lane->lane, op, 1, &failure);
        if (from_cache_ms >= 0)
            from_cache_ms = prepare_ms(lane->lane, op, options->repeats, &failure);
    }
    if (from_cache_ms >= 0)
        report_add(report,
                   json_pack("{s:s, s:s, s:s, s:f, s:f}", "operator", subject->name, "skeleton",
                             subject->skeleton, "device", lane->name, "compile_ms", compile_ms,
                             "from_cache_ms", from_cache_ms),
                   print_compile_row);
    else
        fprintf(stderr, "%s: compiling %s on %s: %s\n", options->program, subject->plan, lane->name,
                failure.message);
    return from_cache_ms >= 0;
}

/* Each operator once, gray, in a cache that is removed again. */
static bool measure_compilers(const struct bench_options *options, const struct lanes *lanes,
                              struct report *report) {
    char cache[] = "/tmp/burin-bench-XXXXXX";
    bool complete = true, head = options->json;
    for (const struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++) {
        if (!lane->gpu || nvrtc_missing()) continue;
        if (!head) printf("operator  skeleton device        compile ms from cache ms\n");
        head = true;
        if (!mkdtemp(cache)) return false;
        for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
            if (!i || strcmp(subjects[i].plan, subjects[i - 1].plan) != 0)
                complete &= measure_compiling(&subjects[i], options, lane, cache, report);
        kernel_library_keep_in(NULL);
        twin_cache_remove_folder(cache);
        memcpy(strrchr(cache, '-'), "-XXXXXX", 7);
    }
    return complete;
}

/* ---- all */

/* Says once what is left out for all operators; false if anything is. */
static bool lanes_are_usable(const struct bench_options *options, const struct lanes *lanes) {
    bool cpu = false, gpu = false;
    for (int i = 0; i < lanes->count; i++) *(lanes->all[i].gpu ? &gpu : &cpu) = true;
    if (gpu && nvrtc_missing())
        fprintf(stderr, "%s: rows of GPUs are left out: %s\n", options->program, nvrtc_missing());
    return (!cpu || on_cpu) && (!gpu || !nvrtc_missing());
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    bool complete = lanes_are_usable(options, lanes);
    if (!options->json) print_head();
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const struct image shape = image_shape(sizes[s][0], sizes[s][1], 1, 8);
            if (bench_options_skip(options, shape.width, shape.height)) continue;
            complete &= measure_picture(&subjects[i], &shape, options, lanes, report);
        }
    if (!options->json) fputs(paper, stdout);
    return measure_compilers(options, lanes, report) && complete;
}

/* ---- before that */

static void print_mistakes(const struct bench_options *options,
                           const struct diagnostics *diagnostics) {
    char text[2 * DIAGNOSTIC_TEXT_MAX];
    for (int i = 0; i < diagnostics->count && i < DIAGNOSTICS_MAX; i++) {
        diagnostics_print(diagnostics, i, text, sizeof text);
        fprintf(stderr, "%s: %s\n", options->program, text);
    }
}

/* Registered operators stay for ever, and so does their file. */
static bool prepare(const struct bench_options *options) {
    struct diagnostics diagnostics;
    struct user_file *file =
        reader_read("bench-skeletons.c", source, strlen(source), 0, &diagnostics);
    if (!file) {
        print_mistakes(options, &diagnostics);
        return false;
    }
    const enum twin_state state = twin_library_load(file, NULL, &diagnostics);
    on_cpu = state == TWIN_LOADED;
    if (state == TWIN_WRONG) print_mistakes(options, &diagnostics);
    if (!on_cpu)
        fprintf(stderr, "%s: rows of the CPU but the serial one are left out: %s\n",
                options->program,
                state == TWIN_WRONG ? "the operators do not compile"
                                    : "there is no C compiler (cc, gcc, clang or tcc)");
    twin_fill(file);
    for (int i = 0; i < file->count; i++)
        if (!registry_add(&file->ops[i].op)) {
            fprintf(stderr, "%s: there is no room for %s\n", options->program,
                    file->ops[i].op.name);
            return false;
        }
    return true;
}

const struct bench bench_skeletons = {
    .name = "skeletons",
    .summary = "an operator of each skeleton, as users write them, gray, 1080p, 4K and 8K",
    .notes =
        "            binarize, Sobel, maximum and histogram, as figure 5 of the paper of 2017 on\n"
        "            skeletons has them; compiled at the start, added to no other process\n"
        "            cpu, serial: a plain loop, compiled without vector instructions, at most 5\n"
        "            runs; every result is compared with its own\n"
        "            x compute, x total: times as fast as that loop; paper: the paper's own\n"
        "            at the end, of each GPU: compiling and loading a kernel, loading it from the\n"
        "            cache; medians of at most 5\n"
        "            without a C compiler or libnvrtc the rows that need it are left out\n",
    .prepare = prepare,
    .measure = measure,
};
