// SPDX-License-Identifier: Apache-2.0
/* nvjpeg - what NVIDIA's JPEG codec gives beside Burin's own: how far its samples are off, and how
 * many photos a second it decodes and encodes, by backend and batch, beside the cores.
 *
 *     cd build/bundle
 *     ./with nvjpeg --batch 1 $(ls photos/kinds/?*.jpg)     differences: every kind of file
 *     ./with nvjpeg $(ls photos/large?.jpg)                 rates: files of one kind and size
 *
 * `planes` are Y, Cb and Cr before upsampling and conversion, so they tell the inverse transform
 * from the rest; of gray there is Y alone. A rate is told only of samples that were found near the
 * CPU's when decoded alone; `strange` counts those of a batch that came out other than alone.
 */
#include "tests/bench/nvjpeg_cores.h"
#include "tests/bench/nvjpeg_damage.h"
#include "tests/bench/nvjpeg_decoder.h"
#include "tests/bench/nvjpeg_encoder.h"

#include "server/json_writer.h"

#include <getopt.h>

enum { FILES_MAX = 64, WARM = 3, CORE_ROUNDS = 5, NEAR = 8 /* levels, on average */ };

static struct {
    const char *nvjpeg_path;
    int rounds, batch, damaged, backend;
    double seconds;
    bool json;
} options = { NULL, 15, BATCH_MAX, 0, -1, 0.5, false };

static const char *const backends[BACKEND_COUNT] = { "default", "hybrid", "gpu_hybrid",
                                                     "hardware" };

/* A photo, what of it this decoder made alone, and whether it may be timed. */
struct entry {
    const struct photo *photo;
    uint64_t digest;
    bool fit;
};

static const char *quoted(const char *words) {
    static char memory[512];
    struct json_writer text = json_writer_in(memory, sizeof memory);
    json_writer_string(&text, words);
    return memory;
}

/* ---- differences */

static void print_difference(const struct photo *photo, const struct decoder *decoder,
                             const char *output, const struct difference *d, uint64_t spilled,
                             uint64_t digest) {
    const double share = 100. * (double)d->off / (double)d->samples;
    const bool interpolates = decoder->flags & FLAGS_INTERPOLATION;
    if (options.json)
        printf(",\n{\"what\": \"difference\", \"file\": %s, \"width\": %u, \"height\": %u, "
               "\"kind\": \"%s\", \"backend\": \"%s\", \"interpolation\": %s, \"output\": \"%s\", "
               "\"samples\": %llu, \"off_percent\": %.5f, \"greatest\": %u, \"mean\": %.6f, "
               "\"bytes_outside\": %llu, \"digest\": \"%016llx\"}",
               quoted(photo->name), photo->probe.width, photo->probe.height, photo->kind,
               backends[decoder->backend], interpolates ? "true" : "false", output,
               (unsigned long long)d->samples, share, d->greatest, difference_mean(d),
               (unsigned long long)spilled, (unsigned long long)digest);
    else
        printf("%-28.28s %-10s %-10s %-6s %-6s %9.4f %8u %9.5f %8llu  %08x\n", photo->name,
               photo->kind, backends[decoder->backend], interpolates ? "inter" : "-", output, share,
               d->greatest, difference_mean(d), (unsigned long long)spilled,
               (unsigned)(digest ^ digest >> 32));
}

static void print_refusal(const char *what, const char *kind, const struct decoder *decoder,
                          const char *output, int status) {
    const bool interpolates = decoder->flags & FLAGS_INTERPOLATION;
    if (options.json)
        printf(",\n{\"what\": \"refusal\", \"file\": %s, \"kind\": \"%s\", \"backend\": \"%s\", "
               "\"interpolation\": %s, \"output\": \"%s\", \"status\": %d, \"means\": \"%s\"}",
               quoted(what), kind, backends[decoder->backend], interpolates ? "true" : "false",
               output, status, nvjpeg_status_text(status));
    else
        printf("%-28.28s %-10s %-10s %-6s %-6s %s (%d)\n", what, kind, backends[decoder->backend],
               interpolates ? "inter" : "-", output, nvjpeg_status_text(status), status);
}

/* Decodes one photo alone and tells how far it is off WANTED, COUNT images of the host. */
static void compare(struct gpu *gpu, struct decoder *decoder, struct entry *entry, int output,
                    const struct image *wanted, int count) {
    const char *name = output == OUTPUT_YUV ? "planes" : output == OUTPUT_Y ? "gray" : "rgb";
    struct target target;
    struct difference difference = { 0 };
    uint64_t spilled = 0, digest = 0;
    target_take(gpu, &target, wanted, count);
    const int status = decode_batch(gpu, decoder, &entry->photo, &target, 1, output);
    gpu_wait(gpu);
    for (int i = 0; !status && i < count; i++) {
        struct image host = fetch(gpu, &target.image[i]);
        difference_add(&difference, &host, &wanted[i]);
        spilled += touched(&host);
        digest = digest * 31 + image_digest(&host);
        free(host.pixels);
    }
    target_free(gpu, &target);
    if (status) {
        print_refusal(entry->photo->name, entry->photo->kind, decoder, name, status);
        return;
    }
    print_difference(entry->photo, decoder, name, &difference, spilled, digest);
    if (output == OUTPUT_YUV) return;
    entry->digest = digest;
    entry->fit = difference_mean(&difference) < NEAR;
}

static int output_of(const struct photo *photo) {
    return photo->pixels.channels == 1 ? OUTPUT_Y : OUTPUT_RGBI;
}

/* ---- rates of decoding */

static void print_rate(const struct decoder *decoder, int files, int batch, double ms,
                       double device_ms, double init_ms, int strange, double held) {
    const bool interpolates = decoder->flags & FLAGS_INTERPOLATION;
    if (options.json)
        printf(",\n{\"what\": \"decode\", \"backend\": \"%s\", \"interpolation\": %s, "
               "\"files\": %d, \"batch\": %d, \"images_per_s\": %.1f, \"ms\": %.4f, "
               "\"events_ms\": %.4f, \"init_ms\": %.4f, \"strange\": %d, \"device_mib\": %.1f}",
               backends[decoder->backend], interpolates ? "true" : "false", files, batch,
               1e3 * batch / ms, ms, device_ms, init_ms, strange, held);
    else
        printf("%-10s %-6s %5d %5d %10.1f %10.3f %10.3f %10.3f %8d %10.1f\n",
               backends[decoder->backend], interpolates ? "inter" : "-", files, batch,
               1e3 * batch / ms, ms, device_ms, init_ms, strange, held);
}

/* Times of one call and the wait for it, on the host's clock and between two events. */
static void time_batch(struct gpu *gpu, struct decoder *decoder, const struct photo *const *photos,
                       const struct target *targets, int count, int output, double *ms,
                       double *device_ms) {
    double host[ROUNDS_MAX], device[ROUNDS_MAX];
    for (int i = -WARM; i < options.rounds; i++) {
        const int64_t start = clock_ns();
        must(gpu, gpu->event_record(gpu->events[0], gpu->stream), "cuEventRecord");
        must_nvjpeg(decode_batch(gpu, decoder, photos, targets, count, output),
                    "nvjpegDecodeBatched");
        must(gpu, gpu->event_record(gpu->events[1], gpu->stream), "cuEventRecord");
        gpu_wait(gpu);
        float between;
        const double took = ns_to_ms(clock_ns() - start);
        must(gpu, gpu->event_ms(&between, gpu->events[0], gpu->events[1]), "cuEventElapsedTime");
        if (i >= 0) host[i] = took, device[i] = between;
    }
    *ms = median(host, options.rounds);
    *device_ms = median(device, options.rounds);
}

static int count_strange(struct gpu *gpu, const struct target *targets, const uint64_t *digests,
                         int count) {
    int strange = 0;
    for (int i = 0; i < count; i++) {
        struct image host = fetch(gpu, &targets[i].image[0]);
        strange += image_digest(&host) != digests[i];
        free(host.pixels);
    }
    return strange;
}

static void measure_batch(struct gpu *gpu, struct decoder *decoder, const struct entry *fit,
                          int kinds, int batch) {
    const struct photo *photos[BATCH_MAX];
    struct target targets[BATCH_MAX];
    uint64_t digests[BATCH_MAX];
    double ms, device_ms;
    const double before = device_left_mib(gpu);
    const int output = output_of(fit->photo);
    for (int i = 0; i < batch; i++) {
        photos[i] = fit[i % kinds].photo, digests[i] = fit[i % kinds].digest;
        target_take(gpu, &targets[i], &photos[i]->pixels, 1);
    }
    const double taken = before - device_left_mib(gpu);
    decoder->batch = 0;
    const int64_t start = clock_ns();
    int status = decoder_ready(gpu, decoder, batch, output);
    const double init_ms = ns_to_ms(clock_ns() - start);
    if (!status) status = decode_batch(gpu, decoder, photos, targets, batch, output);
    gpu_wait(gpu);
    if (status) {
        char what[32];
        snprintf(what, sizeof what, "(a batch of %d)", batch);
        print_refusal(what, fit->photo->kind, decoder, "-", status);
    } else {
        const int strange = count_strange(gpu, targets, digests, batch);
        const double held = decoder->left_mib - device_left_mib(gpu) - taken;
        time_batch(gpu, decoder, photos, targets, batch, output, &ms, &device_ms);
        print_rate(decoder, kinds, batch, ms, device_ms, init_ms, strange, held);
    }
    for (int i = 0; i < batch; i++) target_free(gpu, &targets[i]);
}

/* Photos of as many channels as the first that may be timed: one call has one output format. */
static void measure_rates(struct gpu *gpu, struct decoder *decoder, const struct entry *entries,
                          int count) {
    struct entry fit[FILES_MAX];
    int kinds = 0;
    for (int i = 0; i < count; i++)
        if (entries[i].fit && (!kinds || output_of(entries[i].photo) == output_of(fit[0].photo)))
            fit[kinds++] = entries[i];
    for (int batch = 1; kinds && batch <= options.batch; batch *= 2)
        measure_batch(gpu, decoder, fit, kinds, batch);
}

/* Each backend, plain and with interpolation: RATES or, before those, the differences. */
static void try_backends(struct gpu *gpu, const struct photo *photos, int count,
                         struct entry entries[][FILES_MAX], bool rates) {
    for (int which = 0; which < 2 * BACKEND_COUNT; which++) {
        struct decoder decoder = { .backend = which / 2,
                                   .flags = which % 2 ? FLAGS_INTERPOLATION : FLAGS_NONE };
        if (options.backend >= 0 && decoder.backend != options.backend) continue;
        const int status = decoder_open(gpu, &decoder);
        if (status && !rates) print_refusal("(the backend)", "-", &decoder, "-", status);
        if (status) continue;
        for (int i = 0; !rates && i < count; i++) {
            struct entry *entry = &entries[which][i];
            *entry = (struct entry){ .photo = &photos[i] };
            compare(gpu, &decoder, entry, output_of(&photos[i]), &photos[i].pixels, 1);
            if (photos[i].plane[0].pixels)
                compare(gpu, &decoder, entry, OUTPUT_YUV, photos[i].plane, PLANES);
        }
        if (rates) measure_rates(gpu, &decoder, entries[which], count);
        decoder_close(gpu, &decoder);
    }
}

/* ---- encoding */

static void print_encoded(const struct photo *photo, const struct jpeg *theirs, size_t ours,
                          const struct difference *apart, const struct difference *their_loss,
                          const struct difference *our_loss) {
    const double share = 100. * (double)apart->off / (double)apart->samples;
    printf(options.json
               ? ",\n{\"what\": \"encoded\", \"file\": %s, \"nvjpeg_bytes\": %zu, \"bytes\": %zu, "
                 "\"off_percent\": %.5f, \"greatest\": %u, \"mean\": %.6f, "
                 "\"nvjpeg_loss\": %.6f, \"loss\": %.6f}"
               : "%-28.28s %10zu %10zu %9.4f %8u %9.5f %9.5f %9.5f\n",
           options.json ? quoted(photo->name) : photo->name, theirs->length, ours, share,
           apart->greatest, difference_mean(apart), difference_mean(their_loss),
           difference_mean(our_loss));
}

static void upload(struct gpu *gpu, struct target *target, const struct photo *photo) {
    const struct image *from = &photo->pixels;
    target_take(gpu, target, from, 1);
    for (uint32_t y = 0; y < from->height; y++)
        must(gpu,
             gpu->upload(address(&target->image[0]) + y * target->image[0].stride,
                         image_row(from, y), image_row_bytes(from), gpu->stream),
             "cuMemcpyHtoD");
    gpu_wait(gpu);
}

/* What Burin's own decoder makes of THEIRS and of its own encoder's bytes. */
static void check_encoded(const struct photo *photo, const struct jpeg *theirs) {
    const struct image *source = &photo->pixels;
    const size_t capacity = codec_encode_bound(source, NULL, FORMAT_JPEG);
    uint8_t *bytes = take(capacity);
    const size_t length = encode_here(source, bytes, capacity);
    struct photo copy = { .probe = photo->probe };
    struct image a = take_image(*source), b = take_image(*source);
    struct failure failure;
    if (probe_image(theirs->bytes, theirs->length, &codec_limits_default.probe, &copy.probe,
                    &failure))
        die("nvJPEG's file", failure.message);
    if (!image_same_shape(&copy.probe.shape, source)) die("nvJPEG's file", "has another shape");
    decode_into(theirs->bytes, theirs->length, &copy.probe, &a);
    if (probe_image(bytes, length, &codec_limits_default.probe, &copy.probe, &failure))
        die("our file", failure.message);
    decode_into(bytes, length, &copy.probe, &b);
    const struct difference apart = difference_of(&a, &b), their_loss = difference_of(&a, source),
                            our_loss = difference_of(&b, source);
    if (difference_mean(&their_loss) > NEAR) die("nvJPEG's file", "shows another picture");
    print_encoded(photo, theirs, length, &apart, &their_loss, &our_loss);
    free(a.pixels), free(b.pixels), free(bytes);
}

static void print_encode_rate(int lanes, int batch, double ms) {
    printf(options.json ? ",\n{\"what\": \"encode\", \"streams\": %d, \"batch\": %d, "
                          "\"images_per_s\": %.1f, \"ms\": %.4f}"
                        : "nvJPEG, streams %2d, images %3d: %10.1f a second, %.3f ms\n",
           lanes, batch, 1e3 * batch / ms, ms);
}

static void time_encoding(struct gpu *gpu, struct encoder *encoder, const struct target *targets,
                          int kinds, struct jpeg *jpegs) {
    struct image images[BATCH_MAX];
    for (int i = 0; i < BATCH_MAX; i++) images[i] = targets[i % kinds].image[0];
    for (int lanes = 1; lanes <= LANES_MAX; lanes *= 4) {
        double ms[ROUNDS_MAX];
        for (int i = -WARM; i < options.rounds; i++) {
            const int64_t start = clock_ns();
            encode_batch(gpu, encoder, images, options.batch, lanes, jpegs);
            if (i >= 0) ms[i] = ns_to_ms(clock_ns() - start);
        }
        print_encode_rate(lanes, options.batch, median(ms, options.rounds));
    }
}

/* Colour alone: for gray nvJPEG would have to be given planes. */
static void measure_encoding(struct gpu *gpu, const struct photo *photos, int count) {
    struct encoder encoder;
    struct target targets[FILES_MAX];
    struct jpeg jpegs[LANES_MAX] = { 0 };
    struct core all = { .photos = photos, .count = count, .encodes = true };
    const size_t capacity = largest_result(&all);
    int kinds = 0;
    for (int i = 0; i < LANES_MAX; i++) jpegs[i] = (struct jpeg){ take(capacity), capacity, 0 };
    encoder_open(gpu, &encoder);
    for (int i = 0; i < count; i++) {
        if (photos[i].pixels.channels != 3) continue;
        upload(gpu, &targets[kinds], &photos[i]);
        encode_batch(gpu, &encoder, targets[kinds++].image, 1, 1, jpegs);
        check_encoded(&photos[i], &jpegs[0]);
    }
    if (kinds) time_encoding(gpu, &encoder, targets, kinds, jpegs);
    encoder_close(gpu, &encoder);
    for (int i = 0; i < kinds; i++) target_free(gpu, &targets[i]);
    for (int i = 0; i < LANES_MAX; i++) free(jpegs[i].bytes);
}

static void measure_cores(const struct photo *photos, int count, bool encodes) {
    const struct core job = { photos, count, 0, encodes, options.seconds, 0 };
    const int threads[2] = { 1, core_count() };
    for (int i = 0; i < 2; i++)
        printf(options.json ? ",\n{\"what\": \"cores\", \"does\": \"%s\", \"threads\": %d, "
                              "\"images_per_s\": %.1f}"
                            : "libjpeg-turbo, %s, threads %2d: %10.1f a second\n",
               encodes ? "encode" : "decode", threads[i],
               cores_rate(&job, threads[i], CORE_ROUNDS));
}

static void heading(const char *line) {
    if (!options.json) printf("\n%s\n", line);
}

static void measure(struct gpu *gpu, const struct photo *photos, int count) {
    static struct entry entries[2 * BACKEND_COUNT][FILES_MAX];
    printf(options.json ? "{\"rows\": [\n{\"what\": \"machine\", \"device\": %s, "
                          "\"nvjpeg\": \"%d.%d.%d\", \"cores\": %d, \"rounds\": %d}"
                        : "%s, nvJPEG %d.%d.%d, %d cores, medians of %d\n",
           options.json ? quoted(gpu->name) : gpu->name, gpu->version[0], gpu->version[1],
           gpu->version[2], core_count(), options.rounds);
    heading("file                         kind       backend    chroma output     off %  "
            "greatest      mean  outside  digest");
    try_backends(gpu, photos, count, entries, false);
    heading("backend    chroma files batch   images/s         ms  events ms    init ms  strange "
            "device MiB");
    try_backends(gpu, photos, count, entries, true);
    heading("cores");
    measure_cores(photos, count, false);
    measure_cores(photos, count, true);
    heading("encoded at quality 85          nvJPEG B        B     off %  greatest      mean "
            "nv. loss      loss");
    measure_encoding(gpu, photos, count);
    if (options.json) printf("\n]}\n");
}

static int usage(FILE *to, int code) {
    fprintf(to,
            "usage: nvjpeg [--json] [--rounds 1..%d] [--batch 1..%d] [--seconds S] "
            "[--library PATH] JPEG...\n"
            "Decodes JPEG files (up to %d) by every backend of nvJPEG and by Burin's codec, tells "
            "how far samples are apart,\nthen images a second both ways: nvJPEG by batches, "
            "libjpeg-turbo on one core and on all.\n"
            "  --batch    the largest batch (%d); --rounds of it are timed (%d), the median told\n"
            "  --seconds  that each of %d rounds on the cores takes (0.5)\n"
            "  --backend  0..3: this one alone (default, hybrid, gpu_hybrid, hardware)\n"
            "  --damaged  instead of all that: so many damaged copies of each photo and kind of "
            "damage, by the hardware\n"
            "  --library  nvJPEG's file, where the loader does not find it\n"
            "Exit status 77 where there is no GPU, driver or nvJPEG.\n",
            ROUNDS_MAX, BATCH_MAX, FILES_MAX, BATCH_MAX, options.rounds, CORE_ROUNDS);
    return code;
}

/* -1: go on. */
static int parse(int argc, char **argv) {
    static const struct option known[] = { { "json", no_argument, NULL, 'j' },
                                           { "rounds", required_argument, NULL, 'r' },
                                           { "batch", required_argument, NULL, 'b' },
                                           { "seconds", required_argument, NULL, 's' },
                                           { "backend", required_argument, NULL, 'k' },
                                           { "damaged", required_argument, NULL, 'd' },
                                           { "library", required_argument, NULL, 'l' },
                                           { "help", no_argument, NULL, 'h' },
                                           { 0 } };
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'h') return usage(stdout, 0);
        if (c == '?') return usage(stderr, 2);
        if (c == 'j') options.json = true;
        if (c == 'r') options.rounds = atoi(optarg);
        if (c == 'b') options.batch = atoi(optarg);
        if (c == 'k') options.backend = atoi(optarg);
        if (c == 'd') options.damaged = atoi(optarg);
        if (c == 's') options.seconds = atof(optarg);
        if (c == 'l') options.nvjpeg_path = optarg;
    }
    const bool sound = options.rounds >= 1 && options.rounds <= ROUNDS_MAX && options.batch >= 1 &&
                       options.batch <= BATCH_MAX && options.seconds > 0;
    const int files = argc - optind;
    return sound && files >= 1 && files <= FILES_MAX ? -1 : usage(stderr, 2);
}

int main(int argc, char **argv) {
    static struct photo photos[FILES_MAX];
    struct gpu gpu = { 0 };
    struct failure failure;
    const int answered = parse(argc, argv), count = argc - optind;
    if (answered >= 0) return answered;
    setvbuf(stdout, NULL, _IOLBF, 0); /* should nvJPEG crash, the last line tells on what */
    if (gpu_open(&gpu, options.nvjpeg_path, &failure)) {
        fprintf(stderr, "nvjpeg: %s; nothing was measured\n", failure.message);
        return 77;
    }
    for (int i = 0; i < count; i++) photo_open(argv[optind + i], &photos[i]);
    if (options.damaged)
        measure_damage(&gpu, photos, count, options.damaged);
    else
        measure(&gpu, photos, count);
    for (int i = 0; i < count; i++) photo_close(&photos[i]);
    gpu_close(&gpu);
    return 0;
}
