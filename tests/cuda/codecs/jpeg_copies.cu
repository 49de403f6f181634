// SPDX-License-Identifier: Apache-2.0
/* Damaged JPEGs by the million, and folders of whole ones, through the GPU's decoder beside the CPU
 * codec: what the GPU takes the CPU takes without a note, with the same samples, and two runs are
 * equal. A file that differs is kept.
 *
 * How it works. Every thread draws batches of copies from its own numbers, decodes them on a stream
 * of its own, twice, over other bytes (jpeg_twice.cuh), and asks the CPU codec for those that the
 * GPU took. A number says all about a copy: --seed begins there. The twin does the same without a
 * GPU.
 * covers: cuda/codecs/jpeg_decode.cu */
#include "tests/cuda/codecs/jpeg_twice.cuh"
#include "tests/pipeline/codecs/jpeg/bits.h"

#include <algorithm>
#include <chrono>
#include <dirent.h>
#include <sys/stat.h>
#include <thread>

enum { OF_A_BASE = 64, DAMAGED_BYTES = 60000 };

static struct {
    long copies = 200000;
    double seconds = 60;
    unsigned threads = 0;
    uint32_t seed = 0;
} options;

static std::vector<std::string> names;      /* of whole files */
static std::vector<struct jpeg_file> small; /* those of them that are damaged too */
static std::atomic<long> next_base, done, refused, silent;
static std::atomic<bool> stop;
static std::chrono::steady_clock::time_point started;

static double seconds_since_start(void) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

/* ---- copies */

static struct jpeg_file copy_file(const struct jpeg_file &file) {
    struct jpeg_file copy = { (uint8_t *)malloc(file.length), file.length };
    memcpy(copy.data, file.data, file.length);
    return copy;
}

static struct jpeg_file make_base(uint32_t number) {
    static const int samplings[][3] = { { 1, 1, 1 }, { 3, 1, 1 }, { 3, 2, 1 }, { 3, 2, 2 } };
    static const int qualities[] = { 1, 50, 85, 95, 100 };
    static const unsigned intervals[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 5000 };
    uint32_t state = number * 2654435761u + 3;
    if (!small.empty() && number % 3 == 0) return copy_file(small[number / 3 % small.size()]);
    struct jpeg_case made = {};
    const int *sampling = samplings[cases_random(&state) % 4];
    made.channels = sampling[0];
    made.h = sampling[1];
    made.v = sampling[2];
    made.seed = number;
    made.width = number % 31 ? 1 + cases_random(&state) % 120 : 640;
    made.height = 1 + cases_random(&state) % 90;
    made.quality = qualities[cases_random(&state) % 5];
    made.tables = (enum jpeg_tables)(cases_random(&state) % TABLE_KINDS);
    made.drawing = (enum jpeg_drawing)(cases_random(&state) % DRAWINGS);
    if (made.tables == TABLES_ONE) made.drawing = DRAW_MIDDLE;
    made.interval = cases_random(&state) % 2 ? intervals[cases_random(&state) % 10] : 0;
    made.orientation = cases_random(&state) % 4 ? 0 : 1 + cases_random(&state) % 8;
    made.steps_255 = cases_random(&state) % 9 == 0;
    return make_case(&made);
}

/* Six of eight copies are damaged at random, one is written by hand, one is at the bound. */
static struct jpeg_file make_copy(const struct jpeg_file &base, uint32_t number, uint32_t k) {
    const uint32_t seed = number * OF_A_BASE + k;
    if (number % 8 == 6) return make_bits_case(seed);
    if (number % 8 == 7) return make_bound_case(seed);
    struct jpeg_file copy = damaged_copy(&base, seed);
    if (k % 5) return copy;
    struct jpeg_file twice = damaged_copy(&copy, seed ^ 0x55555555);
    free(copy.data);
    return twice;
}

static void copy_on_and_on(void) {
    static const long bases = (options.copies + OF_A_BASE - 1) / OF_A_BASE;
    struct lane lane = {};
    items batch;
    open_lane(lane);
    for (long number; !stop && (number = next_base++) < bases;) {
        const uint32_t base_number = options.seed + (uint32_t)number;
        struct jpeg_file base = make_base(base_number);
        for (uint32_t k = 0; k < OF_A_BASE; k++) {
            const bool good =
                add(batch, make_copy(base, base_number, k),
                    "copy " + std::to_string(k) + " of base " + std::to_string(base_number));
            refused += !good;
        }
        free(base.data);
        done += OF_A_BASE;
        if (batch.size() + OF_A_BASE <= BATCH) continue;
        decode(lane, batch);
        release(batch);
    }
    decode(lane, batch);
    release(batch);
}

static void watch(std::vector<std::thread> &threads) {
    double printed = 0;
    while (!stop && !failed && done < options.copies) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const double now = seconds_since_start();
        if (now - printed >= 10) {
            printf("%.0f s: %ld copies, %ld taken\n", now, done.load(), taken.load());
            fflush(stdout);
            printed = now;
        }
        if (now > options.seconds) stop = true;
    }
    if (failed) stop = true;
    for (std::thread &thread : threads) thread.join();
}

static void measure_copies(void) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options.threads; i++) threads.emplace_back(copy_on_and_on);
    watch(threads);
    printf(
        "%ld damaged copies in %.1f s: %ld taken, %ld flagged, %ld refused by the header alone\n",
        done.load(), seconds_since_start(), taken.load(), flagged.load(), refused.load());
    if (done < options.copies && !failed)
        printf("stopped after %.0f s; --seed %u goes on from there\n", options.seconds,
               options.seed + (uint32_t)(done / OF_A_BASE));
    if (!failed && done >= 10000 && (taken < done / 50 || flagged < done / 10)) {
        printf("too few were taken, or flagged: that was no test\n");
        failed = true;
    }
}

/* ---- whole files */

static void list(const std::string &path) {
    struct stat facts;
    if (stat(path.c_str(), &facts)) {
        fprintf(stderr, "%s is not there\n", path.c_str());
        _exit(2);
    }
    if (!S_ISDIR(facts.st_mode)) return names.push_back(path);
    std::vector<std::string> entries;
    DIR *folder = opendir(path.c_str());
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') entries.push_back(path + "/" + entry->d_name);
    if (folder) closedir(folder);
    std::sort(entries.begin(), entries.end());
    for (const std::string &entry : entries)
        if (stat(entry.c_str(), &facts) == 0 &&
            (S_ISDIR(facts.st_mode) || strcasestr(entry.c_str(), ".jp")))
            list(entry);
}

static struct jpeg_file read_file(const std::string &path) {
    struct jpeg_file read = { NULL, 0 };
    struct stat facts;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file || fstat(fileno(file), &facts)) return read;
    read.data = (uint8_t *)malloc((size_t)facts.st_size + 1);
    read.length = fread(read.data, 1, (size_t)facts.st_size, file);
    fclose(file);
    return read;
}

/* Files that the GPU flags and the CPU decodes without a note are slow, not wrong: print them. */
static void print_silent(const items &batch) {
    for (const struct item &item : batch) {
        uint32_t notes = 0;
        if (item.taken) continue;
        struct image image = cpu_image(item, &notes);
        if (image.pixels && !notes) {
            printf("%s: flagged, and sound for the CPU\n", item.name.c_str());
            silent++;
        }
        free(image.pixels);
    }
}

static void measure_files(void) {
    struct lane lane = {};
    items batch;
    uint64_t pixels = 0;
    long others = 0;
    open_lane(lane);
    for (size_t i = 0; i <= names.size(); i++) {
        const bool full = pixels > WHOLE_PIXELS || batch.size() == BATCH;
        if (i == names.size() || full) {
            decode(lane, batch);
            print_silent(batch);
            release(batch);
            pixels = 0;
        }
        if (i == names.size()) break;
        const struct jpeg_file file = read_file(names[i]);
        if (!add(batch, file, names[i])) {
            others++;
            continue;
        }
        if (file.length < DAMAGED_BYTES) small.push_back(copy_file(file));
        pixels += image_pixels(&batch.back().probe.shape);
    }
    printf("%zu files: %ld taken, %ld flagged (%ld of them sound), %ld of another kind\n",
           names.size(), taken.load(), flagged.load(), silent.load(), others);
    taken = flagged = 0;
}

/* ---- arguments */

static int usage(FILE *out, int code) {
    fputs(
        "usage: jpeg_copies [OPTION]... [FILE | FOLDER]...\n\n"
        "Files and folders of JPEGs are decoded whole, then damaged too, in turn with made ones.\n"
        "  --copies N    number of damaged copies, default 200000; 0: none\n"
        "  --seconds S   stop after S seconds, default 60\n"
        "  --threads N   default: one a core\n"
        "  --seed N      of the first base, default 0\n"
        "  --twin        by the CPU's twin of the GPU's decoder\n"
        "exit code: 0 all equal, 1 not, 2 the call is not understood, 77 no GPU\n",
        out);
    return code;
}

static bool read_arguments(int count, char **words) {
    for (int i = 1; i < count; i++) {
        const std::string word = words[i];
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        if (word == "--twin") {
            by_twin = true;
            continue;
        }
        if (word.compare(0, 2, "--") != 0) {
            list(word);
            continue;
        }
        if (!value) return false;
        if (word == "--copies")
            options.copies = atol(value);
        else if (word == "--seconds")
            options.seconds = atof(value);
        else if (word == "--threads")
            options.threads = (unsigned)atoi(value);
        else if (word == "--seed")
            options.seed = (uint32_t)strtoul(value, NULL, 10);
        else
            return false;
        i++;
    }
    return true;
}

int main(int count, char **words) {
    int gpus = 0;
    if (count > 1 && strcmp(words[1], "--help") == 0) return usage(stdout, 0);
    if (!read_arguments(count, words)) return usage(stderr, 2);
    if (!by_twin && (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)) {
        puts("no GPU here: --twin goes without one");
        return 77;
    }
    if (!options.threads) options.threads = std::max(1u, std::thread::hardware_concurrency());
    started = std::chrono::steady_clock::now();
    if (!names.empty()) measure_files();
    if (options.copies > 0 && !failed) measure_copies();
    for (struct jpeg_file &file : small) free(file.data);
    puts(failed ? "NOT equal" : "all equal");
    return failed ? 1 : 0;
}
