// SPDX-License-Identifier: Apache-2.0
#include "config/memory.h"

/* PROCESS_MIB: program, stacks, log and heap of an idle process: front, launcher and worker.
 * CELL_MIB: the same of a decoding cell's two together. ENCODER_BYTES: of a pixel, at least.
 * SMALL_LANES: lanes per core that keep idle_bytes, AREAS times each. */
enum {
    MIB = 1 << 20,
    PROCESS_MIB = 48,
    PROCESSES = 3,
    CELL_MIB = 24,
    SMALL_LANES = 2,
    AREAS = 3,
    ENCODER_BYTES = 30
};

struct part {
    const char *name, *keys;
    long bytes;
};

static long smaller(long a, long b) {
    return a < b ? a : b;
}

static long larger(long a, long b) {
    return a > b ? a : b;
}

/* Codecs; pixels in slots, as many of them again in cells; uploads in cells; processes. Results
 * have no more pixels than their encoder has memory for. */
static long cells_bytes(const struct config *config, long cells) {
    const long codecs = memory_cells(config), results = codecs / ENCODER_BYTES * PIXEL_BYTES_MAX;
    const long pixels = larger(config->pixels_max * PIXEL_BYTES_MAX + results, config->queue_bytes);
    return codecs + 2 * pixels + smaller(cells * config->body_bytes_max, config->queue_bytes) +
           cells * ((long)CELL_MIB * MIB + 2 * config->log_buffer_bytes);
}

void memory_print(const struct config *config, int cores, FILE *out) {
    const long lanes = config->lanes ? config->lanes : cores;
    const struct part parts[] = {
        { "slots", "slots, and half of queue_bytes",
          config->slots * SLOT_BASE_BYTES + memory_slots_grow(config, 0) },
        { "uploads", "queue_bytes", config->queue_bytes },
        { "overlays", "overlays_bytes_max, twice during a reload",
          *config->overlays_dir ? 2 * config->overlays_bytes_max : 0 },
        { "answers", "answer_bytes, plus a slot with one answer: pixels_max, body_bytes_max",
          config->answer_bytes + config->body_bytes_max +
              config->pixels_max * (PIXEL_BYTES_MAX + LEFT_BYTES_MAX) },
        { "the CPU's worker", "cpu_memory_bytes", config->cpu_memory_bytes },
        { "its lanes", "lanes, idle_bytes", lanes * SMALL_LANES * AREAS * config->idle_bytes },
        { "decoding cells", "cells, a quarter of cpu_memory_bytes, pixels_max, queue_bytes",
          cells_bytes(config, config->cells ? config->cells : cores) },
        { "processes", "log_buffer_bytes",
          PROCESSES * ((long)PROCESS_MIB * MIB + config->log_buffer_bytes) },
    };
    long sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fprintf(out, "%-18s %6ld MiB  %s\n", parts[i].name, parts[i].bytes / MIB, parts[i].keys);
        sum += parts[i].bytes;
    }
    fprintf(out, "%-18s %6ld MiB  %ld lanes; a GPU takes more\n", "at most", (sum + MIB - 1) / MIB,
            lanes);
}
