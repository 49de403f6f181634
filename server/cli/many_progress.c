// SPDX-License-Identifier: Apache-2.0
#include "server/cli/many_progress.h"

#include "pipeline/timing.h"

#include <inttypes.h>
#include <unistd.h>

enum { PERIOD_NS = 100000000, PATIENCE_NS = 500000000 };

void many_progress_start(struct many_progress *progress, size_t count, size_t skipped, bool quiet) {
    *progress = (struct many_progress){ .count = count,
                                        .skipped = skipped,
                                        .start_ns = clock_ns(),
                                        .quiet = quiet,
                                        .terminal = !quiet && isatty(STDERR_FILENO) };
}

void many_progress_done(struct many_progress *progress, uint64_t read_bytes, uint64_t written_bytes,
                        uint32_t notes) {
    progress->done++;
    progress->read_bytes += read_bytes;
    progress->written_bytes += written_bytes;
    for (int i = 0; i < NOTE_COUNT; i++) progress->noted[i] += notes >> i & 1;
}

void many_progress_failed(struct many_progress *progress) {
    progress->failed++;
}

static double seconds_of(const struct many_progress *progress) {
    return (double)(clock_ns() - progress->start_ns) / 1e9;
}

/* Draws nothing in the first half second: many runs are over by then. */
bool many_progress_draw(struct many_progress *progress) {
    const int64_t now = clock_ns();
    if (!progress->terminal) return false;
    if (now - progress->start_ns < PATIENCE_NS || now - progress->drawn_ns < PERIOD_NS) return true;
    const double seconds = seconds_of(progress), rate = (double)progress->done / seconds;
    fprintf(stderr, "\r%zu of %zu files", progress->done, progress->count);
    if (progress->failed) fprintf(stderr, ", %zu failed", progress->failed);
    fprintf(stderr, ", %zu %%, %.0f s", 100 * progress->done / progress->count, seconds);
    if (progress->done)
        fprintf(stderr, ", %.0f s left", (double)(progress->count - progress->done) / rate);
    fputs("\033[K", stderr);
    progress->drawn_ns = now;
    progress->drawn = true;
    return true;
}

void many_progress_erase(struct many_progress *progress) {
    if (progress->drawn) fputs("\r\033[K", stderr);
    progress->drawn = false;
}

static void print_size(uint64_t bytes) {
    const double kilo = (double)bytes / 1000;
    if (kilo < 1000)
        printf("%.1f kB", kilo);
    else
        printf(kilo < 1e6 ? "%.1f MB" : "%.2f GB", kilo / (kilo < 1e6 ? 1e3 : 1e6));
}

static void print_text(const struct many_progress *progress, bool interrupted) {
    const double seconds = seconds_of(progress);
    printf("%zu %s in %.2f s", progress->done, progress->done == 1 ? "file" : "files", seconds);
    if (progress->failed) printf(", %zu failed", progress->failed);
    if (progress->skipped) printf(", %zu skipped as done", progress->skipped);
    if (interrupted) printf(", %zu not done", progress->count - progress->done);
    fputs("; read ", stdout);
    print_size(progress->read_bytes);
    fputs(", wrote ", stdout);
    print_size(progress->written_bytes);
    putchar('\n');
    for (int i = 0; i < NOTE_COUNT; i++)
        if (progress->noted[i])
            fprintf(stderr, "burin: note for %zu of the files: %s\n", progress->noted[i],
                    note_text(i));
}

void many_progress_sum(const struct many_progress *progress, FILE *lines, bool interrupted) {
    if (lines)
        fprintf(lines,
                "{\"files\": %zu, \"failed\": %zu, \"skipped\": %zu, \"not_done\": %zu, "
                "\"read_bytes\": %" PRIu64 ", \"written_bytes\": %" PRIu64 ", \"ms\": %.3f}\n",
                progress->done, progress->failed, progress->skipped,
                progress->count - progress->done, progress->read_bytes, progress->written_bytes,
                1000 * seconds_of(progress));
    else if (!progress->quiet)
        print_text(progress, interrupted);
}
