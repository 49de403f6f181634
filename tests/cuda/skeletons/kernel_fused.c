// SPDX-License-Identifier: Apache-2.0
/* Kernels of several users' operators in a row give what the operators give one after the other.
 *
 * How it works. The kernels' source is compiled for the CPU, with tests/fake/cuda/cuda_runtime.h in
 * place of CUDA's header, and launched by a loop over blocks and threads. What it ought to give is
 * computed here by functions of the same meaning, a whole image after the other. Two files have
 * macros, helpers and tables of the same names. Without a C++ compiler the test is skipped; where
 * there is libnvrtc the same sources are compiled by that too.
 * covers: cuda/skeletons/kernel_source.c cuda/skeletons/neighbourhood.cuh cuda/skeletons/point.cuh
 */
#include "cuda/skeletons/kernel_source.h"
#include "cuda/skeletons/nvrtc.h"
#include "pipeline/image.h"
#include "pipeline/skeletons/reader.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char first_source[] =
    "#define SCALE 3\n"
    "#define INT_MAX 5\n" /* what a file does to macros ends with it */
    "#undef UINT8_MAX\n"
    "static const int table[4] = { 1, 2, 3, 4 };\n"
    "static int helper(int v) { return v * SCALE + table[v & 3]; }\n"
    "#STRUCT\n"
    "typedef struct { int add; // 7 [0,255]\n"
    "} settings;\n"
    "#P2P_FUNC\n"
    "static unsigned char plus(unsigned char v, int i, settings s) { return v + s.add; }\n"
    "#P2P_FUNC\n"
    "static unsigned char placed(unsigned char v, int index, int channel, int width) {\n"
    "    return helper(v) + index * 11 + channel * 5 + width;\n"
    "}\n"
    "#N2P_FUNC\n"
    "static unsigned short wide(unsigned short p[5][5], int x, int y) {\n"
    "    int sum = x + 3 * y;\n"
    "    for (int r = 0; r < 5; r++)\n"
    "        for (int c = 0; c < 5; c++) sum += p[r][c] * (r * 5 + c);\n"
    "    return sum;\n"
    "}\n"
    "#N2P_FUNC\n"
    "static unsigned short broad(unsigned short p[9][9], int x, int y) {\n"
    "    int sum = x + 3 * y;\n"
    "    for (int r = 0; r < 9; r++)\n"
    "        for (int c = 0; c < 9; c++) sum += p[r][c] * (r * 9 + c);\n"
    "    return sum;\n"
    "}\n";
static const char second_source[] =
    "#define SCALE 5\n"
    "#include <limits.h>\n"
    "#include <stdint.h>\n"
    "static const int table[4] = { 9, 8, 7, 6 };\n"
    "static int helper(int v) { return v * SCALE - table[v & 3]; }\n"
    "#STRUCT\n"
    "typedef struct { int add, times; // 2 [0,9]\n"
    "} settings;\n"
    "#P2P_FUNC\n"
    "static uint8_t another(uint8_t v, int i) { return helper(v) ^ (INT_MAX >> 24) ^ UINT8_MAX; }\n"
    "#P2P_FUNC\n"
    "static unsigned short deep(unsigned short v, int i, settings s) { return v * s.times + i; }\n"
    "#N2P_FUNC\n"
    "static unsigned char window(unsigned char p[3][3], int x, int y, int channel, int height,\n"
    "                            settings s) {\n"
    "    int sum = s.add + x * 5 + y + 9 * channel + height;\n"
    "    for (int r = 0; r < 3; r++)\n"
    "        for (int c = 0; c < 3; c++) sum += p[r][c] * (r * 3 + c + 1);\n"
    "    return sum;\n"
    "}\n";

/* ---- what they mean */

enum { ADD = 7, ADD_AGAIN = 200, TIMES = 3, ROOM = 256 };

struct place {
    unsigned index, channel, width;
};

static unsigned plus_of(unsigned v, const struct place *at, unsigned add) {
    (void)at;
    return (v + add) & 0xff;
}

static unsigned placed_of(unsigned v, const struct place *at, unsigned unused) {
    (void)unused;
    return (v * 3 + (v & 3) + 1 + at->index * 11 + at->channel * 5 + at->width) & 0xff;
}

static unsigned another_of(unsigned v, const struct place *at, unsigned unused) {
    (void)at, (void)unused;
    return (v * 5 - (9 - (v & 3))) % 256 ^ 127 ^ 255;
}

static unsigned deep_of(unsigned v, const struct place *at, unsigned times) {
    return (v * times + at->index) & 0xffff;
}

struct meaning {
    const char *name;
    unsigned (*point)(unsigned v, const struct place *at, unsigned number); /* NULL: a window */
    int number, place; /* its parameter, and which of its struct that is; -1: none */
    int reach;
};

static const struct meaning plus = { "plus", plus_of, ADD, 0, 0 };
static const struct meaning plus_again = { "plus", plus_of, ADD_AGAIN, 0, 0 };
static const struct meaning placed = { "placed", placed_of, 0, -1, 0 };
static const struct meaning other = { "another", another_of, 0, -1, 0 };
static const struct meaning deep = { "deep", deep_of, TIMES, 1, 0 };
static const struct meaning window = { "window", NULL, ADD, 0, 1 };
static const struct meaning wide = { "wide", NULL, 0, -1, 2 };
static const struct meaning broad = { "broad", NULL, 0, -1, 4 };

static unsigned sample_at(const struct image *image, uint32_t y, uint32_t i) {
    const uint8_t *row = image_row(image, y);
    return image->depth == 8 ? row[i] : ((const uint16_t *)row)[i];
}

static void set_sample(const struct image *image, uint32_t y, uint32_t i, unsigned value) {
    uint8_t *row = image_row(image, y);
    if (image->depth == 8)
        row[i] = (uint8_t)value;
    else
        ((uint16_t *)row)[i] = (uint16_t)value;
}

static uint32_t clamp(int64_t v, uint32_t count) {
    return v < 0 ? 0 : v >= count ? count - 1 : (uint32_t)v;
}

static unsigned window_of(const struct meaning *one, const struct image *in, uint32_t x, uint32_t y,
                          uint32_t c) {
    const int reach = one->reach, side = 2 * reach + 1;
    unsigned sum = x + 3 * y;
    if (reach == 1) sum = (unsigned)one->number + x * 5 + y + 9 * c + in->height;
    for (int i = 0; i < side * side; i++) {
        const uint32_t column = clamp((int64_t)x + i % side - reach, in->width);
        const uint32_t row = clamp((int64_t)y + i / side - reach, in->height);
        const unsigned weight = (unsigned)i + (reach == 1);
        sum += weight * sample_at(in, row, column * in->channels + c);
    }
    return sum & (unsigned)image_max(in);
}

static void apply(const struct meaning *one, const struct image *in, const struct image *out) {
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t i = 0; i < in->width * in->channels; i++) {
            const uint32_t x = i / in->channels, c = i % in->channels;
            unsigned value = sample_at(in, y, i);
            const struct place at = { y * in->width + x, c, in->width };
            if (c < image_colours(in))
                value = one->point ? one->point(value, &at, (unsigned)one->number)
                                   : window_of(one, in, x, y, c);
            set_sample(out, y, i, value);
        }
}

/* ---- the kernel on the CPU */

/* Behind the kernel's source; KERNEL_ARGUMENTS are those of its skeleton. */
static const char launcher[] =
    "struct image { unsigned char *pixels; unsigned long stride; unsigned width, height;\n"
    "    unsigned char channels, depth; };\n"
    "extern \"C\" void launch(const image *in, const image *out, const void *parameters,\n"
    "                       unsigned rows) {\n"
    "    static batch_of<64> batch;\n"
    "    batch_image &to = batch.images[0];\n"
    "    burin_parameters all;\n"
    "    const unsigned bytes = in->depth / 8, span = 16 / bytes;\n"
    "    __builtin_memcpy(&all, parameters, sizeof all);\n"
    "    batch.count = 1;\n"
    "    to = batch_image();\n"
    "    to.in = in->pixels, to.out = out->pixels;\n"
    "    to.in_stride = in->stride, to.out_stride = out->stride;\n"
    "    to.width = in->width * in->channels, to.height = in->height;\n"
    "    to.pixels = to.width * to.height;\n"
    "    to.row_chunks = (to.width + span - 1) / span;\n"
    "    to.chunks = batch.chunks = to.row_chunks * ((to.height + rows - 1) / rows);\n"
    "    to.aligned = (((unsigned long)to.in | (unsigned long)to.out | in->stride |\n"
    "                   out->stride) % 16) == 0;\n"
    "    while (1ul << to.shift < to.row_chunks) to.shift++;\n"
    "    to.reciprocal = ((1ul << (31 + to.shift)) + to.row_chunks - 1) / to.row_chunks;\n"
    "    to.shift -= to.row_chunks > 1;\n"
    "    gridDim.x = (batch.chunks + THREADS - 1) / THREADS;\n"
    "    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)\n"
    "        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++)\n"
    "            burin_kernel(batch, all, KERNEL_ARGUMENTS);\n"
    "}\n";
static const char point_defines[] =
    "\n#define THREADS POINT_THREADS\n"
    "#define KERNEL_ARGUMENTS in->channels, alpha_of(in->channels, bytes)\n"
    "static alpha_mask alpha_of(unsigned channels, unsigned bytes) {\n"
    "    alpha_mask alpha = {};\n"
    "    const unsigned pixel = channels * bytes;\n"
    "    for (unsigned i = 0; channels % 2 == 0 && i < 16; i++)\n"
    "        if (i % pixel >= pixel - bytes) alpha.words[i / 4] |= 0xffu << 8 * (i % 4);\n"
    "    return alpha;\n"
    "}\n";
static const char window_defines[] = "\n#define THREADS NEIGHBOURHOOD_THREADS\n"
                                     "#define KERNEL_ARGUMENTS rows\n";

struct parameters {
    _Alignas(8) unsigned char bytes[80];
};
typedef void (*launch)(const struct image *in, const struct image *out,
                       const struct parameters *parameters, unsigned rows);

static char folder[] = "/tmp/burin-fused-XXXXXX";
static struct user_file *files[2];

static bool run(char *const arguments[]) {
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout)) _exit(127);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The library that SOURCE becomes; the caller closes it. */
static void *compile(const char *source, bool is_window) {
    static int number;
    char path[64], library[64];
    snprintf(path, sizeof path, "%s/%d.cpp", folder, number);
    snprintf(library, sizeof library, "%s/%d.so", folder, number++);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(source, file);
    fputs(is_window ? window_defines : point_defines, file);
    fputs(launcher, file);
    fclose(file);
    /* CUDA's compilers have their header before the first line. C++'s library is not used. */
    char *const arguments[] = { "g++",      "-std=c++17",     "-Og",
                                "-w",       "-fPIC",          "-shared",
                                "-fwrapv",  "-nostdlib",      "-Itests/fake/cuda",
                                "-include", "cuda_runtime.h", path,
                                "-o",       library,          NULL };
    assert_true(run(arguments));
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!loaded) fail_msg("%s", dlerror());
    unlink(path);
    unlink(library);
    return loaded;
}

static const struct user_op *op_named(const char *name) {
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < files[f]->count; i++)
            if (strcmp(files[f]->ops[i].op.name, name) == 0) return &files[f]->ops[i];
    fail_msg("no operator %s", name);
    return NULL;
}

/* ---- one chain */

struct chain {
    const struct meaning *steps[KERNEL_OPS_MAX];
    int count, depth;
};

static struct kernel_form form_of(const struct chain *chain, int channels) {
    struct kernel_form form = { .count = chain->count,
                                .depth = chain->depth,
                                .channels = channels };
    for (int i = 0; i < chain->count; i++) form.ops[i] = op_named(chain->steps[i]->name);
    return form;
}

static void fill_parameters(const struct chain *chain, struct parameters *all) {
    memset(all, 0, KERNEL_OPS_MAX * sizeof *all);
    for (int i = 0; i < chain->count; i++)
        if (chain->steps[i]->place >= 0)
            ((int *)all[i].bytes)[chain->steps[i]->place] = chain->steps[i]->number;
}

/* With room before and behind: kernels read whole words. */
static uint8_t *make_image(struct image *image, size_t stride) {
    image->stride = stride;
    uint8_t *memory = aligned_alloc(256, (image_bytes(image) + 3 * ROOM) / ROOM * ROOM + ROOM);
    memset(memory, 0xa5, image_bytes(image) + 2 * ROOM);
    image->pixels = memory + ROOM;
    return memory;
}

/* PADDING: bytes more than a row has; odd strides go the way of rows that begin anywhere. */
static void check_image(const struct chain *chain, launch kernel, struct image shape,
                        size_t padding) {
    const size_t stride = padding ? image_row_bytes(&shape) + padding : shape.stride;
    const bool is_window = !chain->steps[chain->count - 1]->point;
    struct image in = shape, out = shape, step[2] = { shape, shape };
    struct parameters parameters[KERNEL_OPS_MAX];
    uint8_t *memory[] = { make_image(&in, stride), make_image(&out, stride),
                          make_image(&step[0], stride), make_image(&step[1], stride) };
    unsigned seed = shape.width * 31 + shape.height;
    for (size_t i = 0; i < image_bytes(&in); i++)
        in.pixels[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    fill_parameters(chain, parameters);
    for (int i = 0; i < chain->count; i++)
        apply(chain->steps[i], i ? &step[(i - 1) % 2] : &in, &step[i % 2]);
    const struct image *wanted = &step[(chain->count - 1) % 2];
    for (unsigned rows = is_window ? 4 : 1; rows <= 32; rows = is_window ? rows * 2 : 64) {
        kernel(&in, &out, parameters, rows);
        for (uint32_t y = 0; y < shape.height; y++)
            if (memcmp(image_row(&out, y), image_row(wanted, y), image_row_bytes(&out)) != 0)
                fail_msg("%ux%u, %u x %u bit, stride %zu, strips of %u: row %u differs",
                         shape.width, shape.height, shape.channels, shape.depth, stride, rows, y);
    }
    for (int i = 0; i < 4; i++) free(memory[i]);
}

static const uint32_t sizes[][2] = { { 1, 1 },   { 1, 17 },   { 17, 1 },   { 2, 5 },
                                     { 5, 3 },   { 13, 42 },  { 123, 66 }, { 16, 16 },
                                     { 33, 35 }, { 4097, 3 }, { 64, 130 } };

static void check_sizes(const struct chain *chain, launch kernel, unsigned channels) {
    const size_t sample = (size_t)chain->depth / 8;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct image shape =
            image_shape(sizes[i][0], sizes[i][1], channels, (unsigned)chain->depth);
        check_image(chain, kernel, shape, 0);
        check_image(chain, kernel, shape, sample * 3);
    }
}

static void check_nvrtc(const char *source) {
    struct nvrtc_code code;
    if (nvrtc_missing()) return;
    if (!nvrtc_compile(source, "op.c", 90, &code)) fail_msg("%s", code.log);
    nvrtc_release(&code);
}

/* A P2P kernel takes any number of channels; of a window there is one for each, of which FIRST and
 * every STEP from there are tried. */
static void check_chain(const struct chain *chain, int first, int step) {
    const bool is_window = !chain->steps[chain->count - 1]->point;
    for (int channels = first; channels <= (is_window ? 4 : 1); channels += step) {
        const struct kernel_form form = form_of(chain, channels);
        char *source = kernel_source(&form);
        assert_non_null(source);
        if (channels == 1) check_nvrtc(source);
        void *library = compile(source, is_window);
        launch kernel;
        *(void **)&kernel = dlsym(library, "launch");
        assert_non_null(kernel);
        for (unsigned c = (unsigned)channels; c <= (is_window ? (unsigned)channels : 4); c++)
            check_sizes(chain, kernel, c);
        dlclose(library);
        free(source);
    }
}

/* ---- the tests */

static void test_points(void **state) {
    (void)state;
    check_chain(&(struct chain){ { &plus, &placed, &other, &plus_again, &placed }, 5, 8 }, 1, 1);
}

static void test_points_before_a_window(void **state) {
    (void)state;
    check_chain(&(struct chain){ { &placed, &window }, 2, 8 }, 1, 2);
}

static void test_several_points_before_a_window(void **state) {
    (void)state;
    check_chain(&(struct chain){ { &other, &placed, &plus, &window }, 4, 8 }, 2, 2);
}

static void test_a_deep_point_before_a_wide_window(void **state) {
    (void)state;
    check_chain(&(struct chain){ { &deep, &wide }, 2, 16 }, 1, 3);
}

static void test_a_window_alone(void **state) {
    (void)state;
    check_chain(&(struct chain){ { &wide }, 1, 16 }, 2, 1);
}

static void test_a_window_that_registers_do_not_hold(void **state) {
    (void)state;
    check_chain(&(struct chain){ { &broad }, 1, 16 }, 3, 2);
}

static int read_files(void **state) {
    (void)state;
    struct diagnostics diagnostics;
    const char *const sources[] = { first_source, second_source };
    for (int i = 0; i < 2; i++) {
        files[i] = reader_read(i ? "second.c" : "first.c", sources[i], strlen(sources[i]), 0,
                               &diagnostics);
        if (!files[i]) return -1;
    }
    return mkdtemp(folder) ? 0 : -1;
}

static int destroy_files(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) reader_destroy(files[i]);
    return rmdir(folder);
}

int main(void) {
    char *const version[] = { "g++", "--version", NULL };
    if (access("tests/fake/cuda/cuda_runtime.h", R_OK) != 0 || !run(version)) {
        puts("skipped: needs g++ and the source tree");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_points_before_a_window),
        cmocka_unit_test(test_several_points_before_a_window),
        cmocka_unit_test(test_a_deep_point_before_a_wide_window),
        cmocka_unit_test(test_a_window_alone),
        cmocka_unit_test(test_a_window_that_registers_do_not_hold),
    };
    return cmocka_run_group_tests(tests, read_files, destroy_files);
}
