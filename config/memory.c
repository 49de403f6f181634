// SPDX-License-Identifier: Apache-2.0
#include "config/memory.h"

/* PROCESS_MIB: program, stacks, log and heap of an idle process: front, launcher and worker.
 * CELL_MIB: the same of a decoding cell's two together.
 * SMALL_LANES: lanes per core that keep idle_bytes, AREAS times each. */
enum {
    MIB = 1 << 20,
    PROCESS_MIB = 48,
    PROCESSES = 3,
    CELL_MIB = 24,
    SMALL_LANES = 2,
    AREAS = 3,
    PIXEL_BYTES = 8
};

struct part {
    const char *name, *keys;
    long bytes;
};

static long larger(long a, long b) {
    return a > b ? a : b;
}

/* Codecs; pixels of an image and its results in slots, as many of them again in cells; uploads in
 * cells; processes. */
static long cells_bytes(const struct config *config, long cells) {
    const long codecs = larger(config->codec_memory_bytes, config->cpu_memory_bytes);
    const long pixels = larger(2 * config->pixels_max * PIXEL_BYTES, config->queue_bytes);
    return codecs + 2 * pixels + config->queue_bytes +
           cells * ((long)CELL_MIB * MIB + 2 * config->log_buffer_bytes);
}

void memory_print(const struct config *config, int cores, FILE *out) {
    const long lanes = config->lanes ? config->lanes : cores;
    const struct part parts[] = {
        { "slots", "slots, and half of queue_bytes",
          config->slots * SLOT_BASE_BYTES + memory_slots_grow(config, 0) },
        { "uploads", "queue_bytes", config->queue_bytes },
        { "answers", "answer_bytes, plus one answer of pixels_max",
          config->answer_bytes + config->pixels_max * PIXEL_BYTES },
        { "the CPU's worker", "cpu_memory_bytes", config->cpu_memory_bytes },
        { "its lanes", "lanes, idle_bytes", lanes * SMALL_LANES * AREAS * config->idle_bytes },
        { "decoding cells", "cells, cpu_memory_bytes, pixels_max, queue_bytes",
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
