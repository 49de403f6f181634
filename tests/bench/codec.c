// SPDX-License-Identifier: Apache-2.0
/* codec - milliseconds that a codec takes for one picture on one core, libpng beside it.
 *
 * How it works. Each row encodes the same picture a number of rounds and decodes what came of it;
 * both times are medians. A first round is not timed: its result is decoded and compared with the
 * picture, exactly for PNG, for JPEG 12 levels a sample apart on average at most. Memory is touched
 * before the clock runs. */
#include "pipeline/codec.h"
#include "tests/noise.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <png.h>

enum { ROUNDS_MAX = 101 };

struct buffer {
    uint8_t *bytes;
    size_t capacity, length;
};

struct row {
    char name[24];
    size_t bytes;
    double encode_ms, decode_ms;
};

static int rounds = 9;

static void die(const char *what, const char *why) {
    fprintf(stderr, "codec: %s: %s\n", what, why);
    exit(1);
}

static void *take(size_t size) {
    void *memory = malloc(size);
    if (!memory) die("memory", strerror(errno));
    memset(memory, 0, size); /* touched before the clock runs */
    return memory;
}

static struct image decode(const struct buffer *from) {
    struct probe probe;
    struct failure failure;
    uint32_t notes = 0;
    if (probe_image(from->bytes, from->length, &codec_limits_default.probe, &probe, &failure))
        die("probe", failure.message);
    struct image image = probe.shape;
    image.pixels = take(image_bytes(&image));
    if (codec_decode(from->bytes, from->length, &probe, &codec_limits_default, NULL, &image, NULL,
                     &notes, &failure))
        die("decode", failure.message);
    return image;
}

static void encode(const struct image *image, const struct encode_options *options,
                   struct buffer *to) {
    struct failure failure;
    uint32_t notes = 0;
    if (codec_encode(image, NULL, options, NULL, to->bytes, to->capacity, &to->length, &notes,
                     &failure))
        die("encode", failure.message);
}

static void append(png_structp png, png_bytep bytes, size_t length) {
    struct buffer *to = png_get_io_ptr(png);
    if (length > to->capacity - to->length) png_error(png, "the buffer is too small");
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void flush(png_structp png) {
    (void)png;
}

static void encode_libpng(const struct image *image, const struct encode_options *options,
                          struct buffer *to) {
    static const int types[5] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    to->length = 0;
    png_set_write_fn(png, to, append, flush);
    png_set_compression_level(png, options->compression);
    png_set_IHDR(png, info, image->width, image->height, image->depth, types[image->channels], 0, 0,
                 0);
    png_write_info(png, info);
    if (image->depth == 16) png_set_swap(png);
    for (uint32_t y = 0; y < image->height; y++) png_write_row(png, image_row(image, y));
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

struct source {
    const uint8_t *bytes;
    size_t left;
};

static void take_source(png_structp png, png_bytep to, size_t length) {
    struct source *from = png_get_io_ptr(png);
    if (length > from->left) png_error(png, "the file ends");
    memcpy(to, from->bytes, length);
    from->bytes += length;
    from->left -= length;
}

/* Rows of libpng are ours, but for the order of 16 bits. */
static struct image decode_libpng(const struct buffer *from) {
    struct source source = { from->bytes, from->length };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &source, take_source);
    png_read_info(png, info);
    struct image image =
        image_shape(png_get_image_width(png, info), png_get_image_height(png, info),
                    png_get_channels(png, info), png_get_bit_depth(png, info));
    image.pixels = take(image_bytes(&image));
    if (image.depth == 16) png_set_swap(png);
    for (uint32_t y = 0; y < image.height; y++) png_read_row(png, image_row(&image, y), NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    return image;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *ms) {
    qsort(ms, (size_t)rounds, sizeof *ms, by_size);
    return ms[rounds / 2];
}

/* PNG must give the picture back; JPEG may be off, by little on average. */
static void check(const struct image *image, struct image back, bool exact) {
    uint64_t off = 0;
    if (!image_same_shape(image, &back)) die("check", "another shape came back");
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t x = 0; x < image_row_bytes(image); x++)
            off += (uint64_t)abs(image_row(image, y)[x] - image_row(&back, y)[x]);
    if (off > (exact ? 0 : 12 * image_pixels(image) * image->channels))
        die("check", "other samples came back");
    free(back.pixels);
}

static struct row measure(const struct image *image, const char *name,
                          const struct encode_options *options, struct buffer *to,
                          void (*by)(const struct image *, const struct encode_options *,
                                     struct buffer *),
                          struct image (*read_by)(const struct buffer *)) {
    struct row row = { .name = "" };
    double encode_ms[ROUNDS_MAX], decode_ms[ROUNDS_MAX];
    snprintf(row.name, sizeof row.name, "%s", name);
    by(image, options, to); /* not timed: it warms */
    check(image, read_by(to), options->format == FORMAT_PNG);
    for (int i = 0; i < rounds; i++) {
        const int64_t start = clock_ns();
        by(image, options, to);
        const int64_t encoded = clock_ns();
        struct image back = read_by(to);
        decode_ms[i] = ns_to_ms(clock_ns() - encoded);
        encode_ms[i] = ns_to_ms(encoded - start);
        free(back.pixels);
    }
    row.bytes = to->length;
    row.encode_ms = median(encode_ms);
    row.decode_ms = median(decode_ms);
    return row;
}

/* Hills of light with grain, where no photograph is given. */
static struct image draw(uint32_t width, uint32_t height) {
    struct image image = image_shape(width, height, 3, 8);
    uint32_t seed = 1;
    image.pixels = take(image_bytes(&image));
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width * 3; x++) {
            const int hill = (int)((x / 3 * (y + 400) >> 11) + (y * (x % 3 + 2) >> 3)) & 511;
            noise_next(&seed);
            const int light = (hill < 256 ? hill : 511 - hill) * 7 / 8 + (int)(seed >> 24) % 9;
            image_row(&image, y)[x] = (uint8_t)light;
        }
    }
    return image;
}

static struct buffer read_file(const char *path) {
    struct buffer file = { 0 };
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END)) die(path, strerror(errno));
    const long length = ftell(in);
    if (length <= 0) die(path, "it is empty or no file");
    rewind(in);
    file.bytes = take((size_t)length);
    file.length = fread(file.bytes, 1, (size_t)length, in);
    fclose(in);
    return file;
}

static struct image load(const char *path) {
    struct buffer file = read_file(path);
    struct image image = decode(&file);
    free(file.bytes);
    return image;
}

static double processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Processor time, so other work on the machine counts little: for each file its bytes, the bytes of
 * its pixels, and the median and the least of the milliseconds. */
static void decode_file(const char *path) {
    const struct buffer file = read_file(path);
    double ms[ROUNDS_MAX];
    struct probe probe;
    struct failure failure;
    uint32_t notes = 0;
    if (probe_image(file.bytes, file.length, &codec_limits_default.probe, &probe, &failure))
        die(path, failure.message);
    struct image image = probe.shape;
    image.pixels = take(image_bytes(&image));
    for (int i = -1; i < rounds; i++) {
        const double start = processor_ms();
        if (codec_decode(file.bytes, file.length, &probe, &codec_limits_default, NULL, &image, NULL,
                         &notes, &failure))
            die(path, failure.message);
        ms[i < 0 ? 0 : i] = processor_ms() - start;
    }
    const double middle = median(ms); /* sorts them */
    printf("%s %zu %zu %.3f %.3f\n", path, file.length, image_bytes(&image), middle, ms[0]);
    free(image.pixels);
    free(file.bytes);
}

static void print_rows(const struct image *image, const struct row *rows, int count, bool json) {
    const double pixels = (double)image_pixels(image);
    if (json)
        printf("{\"width\": %u, \"height\": %u, \"channels\": %u, \"depth\": %u, \"rounds\": %d, "
               "\"rows\": [",
               image->width, image->height, image->channels, image->depth, rounds);
    else
        printf("%u x %u, %u channels of %u bits, one core, median of %d\n"
               "%-22s %10s %8s %10s %10s\n",
               image->width, image->height, image->channels, image->depth, rounds, "codec", "bytes",
               "B/px", "encode ms", "decode ms");
    for (int i = 0; i < count; i++)
        printf(json ? "%s{\"codec\": \"%s\", \"bytes\": %zu, \"bytes_per_pixel\": %.4f, "
                      "\"encode_ms\": %.3f, \"decode_ms\": %.3f}"
                    : "%s%-22s %10zu %8.3f %10.2f %10.2f\n",
               json && i ? ", " : "", rows[i].name, rows[i].bytes, (double)rows[i].bytes / pixels,
               rows[i].encode_ms, rows[i].decode_ms);
    if (json) printf("]}\n");
}

static void run(const struct image *image, bool json) {
    struct row rows[9];
    int count = 0;
    struct encode_options options = encode_options_default;
    struct buffer to = { 0 };
    to.capacity = codec_encode_bound(image, NULL, FORMAT_JPEG);
    if (to.capacity < codec_encode_bound(image, NULL, FORMAT_PNG))
        to.capacity = codec_encode_bound(image, NULL, FORMAT_PNG);
    to.bytes = take(to.capacity);
    if (image->depth == 8 && !image_has_alpha(image)) {
        rows[count++] = measure(image, "jpeg 85 (4:2:0)", &options, &to, encode, decode);
        options.quality = 95;
        rows[count++] = measure(image, "jpeg 95 (4:4:4)", &options, &to, encode, decode);
    }
    options.format = FORMAT_PNG;
    for (options.compression = 0; options.compression <= 3; options.compression++) {
        char name[24];
        snprintf(name, sizeof name, "png %d", options.compression);
        rows[count++] = measure(image, name, &options, &to, encode, decode);
    }
    options.compression = 1;
    rows[count++] = measure(image, "libpng 1, its filters", &options, &to, encode_libpng, decode);
    rows[count++] = measure(image, "libpng both ways", &options, &to, encode_libpng, decode_libpng);
    print_rows(image, rows, count, json);
    free(to.bytes);
}

int main(int argc, char **argv) {
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "rounds", required_argument, NULL, 'r' },
                                             { "decode", no_argument, NULL, 'd' },
                                             { "help", no_argument, NULL, 'h' },
                                             { 0 } };
    bool json = false, decodes = false;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'j') json = true;
        if (c == 'd') decodes = true;
        if (c == 'r') rounds = atoi(optarg);
        if (c == 'h' || c == '?' || rounds < 1 || rounds > ROUNDS_MAX) {
            fprintf(
                c == 'h' ? stdout : stderr,
                "usage: codec [--json] [--rounds 1..%d] [IMAGE]\n"
                "       codec --decode [--rounds N] FILE...\n\n"
                "Milliseconds to encode and to decode IMAGE (jpeg, png, pnm), or a drawn picture\n"
                "of 1920 x 1080, as JPEG and as PNG on one core, with bytes and bytes a pixel;\n"
                "libpng at level 1 beside it, read by Burin and by libpng. Each result is decoded\n"
                "and compared first.\n\n"
                "  --decode    only decode each FILE, of any format: its bytes, its pixels',\n"
                "              median and least of the processor's milliseconds\n"
                "  --rounds N  take the median of N rounds (default 9)\n"
                "  --json      print JSON and no table\n",
                ROUNDS_MAX);
            return c != 'h';
        }
    }
    for (; decodes && optind < argc; optind++) decode_file(argv[optind]);
    if (decodes) return 0;
    struct image image = optind < argc ? load(argv[optind]) : draw(1920, 1080);
    run(&image, json);
    free(image.pixels);
    return 0;
}
