// SPDX-License-Identifier: Apache-2.0
/* How it works. Upload and download do nothing, operators run in the calling thread, and memory
 * comes from cpu_memory.h. */
#include "pipeline/cpu_memory.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cpu_lane {
    struct lane lane;
    struct cpu_memory memory;
    struct pool *pool; /* borrowed */
    double compute_ms;
    struct timing spans; /* of the batch under way */
};

static int cpu_count(void) {
    return 1;
}

/* ---- info */

/* VALUE of the first /proc/cpuinfo line that begins with KEY. */
static bool cpuinfo(const char *key, char *value, size_t size) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return false;
    char line[4096];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        found = colon && strncmp(line, key, strlen(key)) == 0;
        if (found) snprintf(value, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    fclose(file);
    return found;
}

static void add_vector(struct device_info *info, bool has, const char *name) {
    const size_t used = strlen(info->vectors);
    if (has) snprintf(info->vectors + used, sizeof info->vectors - used, used ? " %s" : "%s", name);
}

static void vectors(struct device_info *info) {
#ifdef __x86_64__
    __builtin_cpu_init();
    add_vector(info, __builtin_cpu_supports("sse4.2"), "SSE4.2");
    add_vector(info, __builtin_cpu_supports("avx2"), "AVX2");
    add_vector(info, __builtin_cpu_supports("bmi2"), "BMI2");
    add_vector(info, __builtin_cpu_supports("fma"), "FMA");
    add_vector(info, __builtin_cpu_supports("avx512bw"), "AVX-512BW");
    add_vector(info, __builtin_cpu_supports("avx512vbmi"), "AVX-512VBMI");
#else
    add_vector(info, true, "none used");
#endif
}

static enum status cpu_describe(int index, struct device_info *info, struct failure *failure) {
    (void)index, (void)failure;
    cpu_set_t cores;
    *info = (struct device_info){ .multiprocessors = 1 };
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) info->multiprocessors = CPU_COUNT(&cores);
    if (!cpuinfo("model name", info->name, sizeof info->name)) strcpy(info->name, "CPU");
    char mhz[32];
    if (cpuinfo("cpu MHz", mhz, sizeof mhz)) info->clock_mhz = atof(mhz);
    const double page = (double)sysconf(_SC_PAGESIZE);
    info->memory_bytes = page * (double)sysconf(_SC_PHYS_PAGES);
    info->memory_free_bytes = page * (double)sysconf(_SC_AVPHYS_PAGES);
    const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    info->l2_bytes = l2 > 0 ? (double)l2 : 0;
    vectors(info);
    return STATUS_OK;
}

/* ---- memory */

static enum status cpu_reserve(struct lane *lane, const struct lane_need *need,
                               struct failure *failure) {
    struct cpu_lane *cpu = (struct cpu_lane *)lane;
    const struct area *area = cpu->memory.area;
    const enum status status = cpu_memory_reserve(&cpu->memory, need, failure);
    if (status) return status;
    lane->host_in = lane->in = area[0].bytes;
    lane->work = area[1].bytes;
    lane->host_out = lane->out = area[2].bytes;
    cpu->compute_ms = 0;
    cpu->spans.span_count = 0;
    return STATUS_OK;
}

static enum status cpu_empty(struct lane *lane, struct failure *failure) {
    (void)failure;
    cpu_memory_empty(&((struct cpu_lane *)lane)->memory);
    return STATUS_OK;
}

static bool cpu_trim(struct lane *lane) {
    return cpu_memory_trim(&((struct cpu_lane *)lane)->memory);
}

static void cpu_close(struct lane *lane) {
    struct cpu_lane *cpu = (struct cpu_lane *)lane;
    if (!cpu) return;
    cpu_memory_release(&cpu->memory);
    free(cpu);
}

static enum status cpu_open(int index, const struct lane_options *options, struct lane **lane,
                            struct failure *failure) {
    (void)index;
    struct cpu_lane *cpu = calloc(1, sizeof *cpu);
    if (!cpu) return fail(failure, STATUS_NO_MEMORY, "no memory for a lane");
    cpu->lane.driver = &device_cpu;
    cpu->pool = options->pool;
    cpu_memory_init(&cpu->memory, options->idle_bytes, options->staging_bytes);
    cpu_memory_set_most(options->cpu_memory_bytes);
    *lane = &cpu->lane;
    return STATUS_OK;
}

/* ---- work */

static enum status copy_nothing(struct lane *lane, size_t bytes, struct failure *failure) {
    (void)lane, (void)bytes, (void)failure;
    return STATUS_OK;
}

/* Calls run one after the other, so they share one scratch. */
static size_t cpu_scratch(struct lane *lane, const struct op *op, const struct op_call *calls,
                          int call_count) {
    (void)lane;
    size_t most = 0;
    for (int i = 0; op->scratch && i < call_count; i++) {
        const size_t bytes = op->scratch(&calls[i]);
        if (bytes > most) most = bytes;
    }
    return most;
}

static enum status cpu_run(struct lane *lane, const struct op *op, struct op_call *calls,
                           int call_count) {
    struct cpu_lane *cpu = (struct cpu_lane *)lane;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < call_count; i++) {
        struct timing kernels = { .span_count = 0 };
        const int64_t start = clock_ns();
        calls[i].pool = cpu->pool;
        calls[i].scratch = calls[0].scratch;
        calls[i].timing = &kernels;
        status = op->run(&calls[i]);
        const double ms = ns_to_ms(clock_ns() - start);
        cpu->compute_ms += ms;
        timing_span(&cpu->spans, op->name, 0, ms);
        for (int k = 0; k < kernels.span_count; k++)
            timing_span(&cpu->spans, kernels.spans[k].name, 1, kernels.spans[k].ms);
    }
    return status;
}

static enum status cpu_finish(struct lane *lane, struct lane_times *times, struct timing *spans,
                              struct failure *failure) {
    (void)failure;
    struct cpu_lane *cpu = (struct cpu_lane *)lane;
    *times = (struct lane_times){ .compute_ms = cpu->compute_ms };
    for (int i = 0; spans && i < cpu->spans.span_count; i++)
        timing_span(spans, cpu->spans.spans[i].name, cpu->spans.spans[i].level,
                    cpu->spans.spans[i].ms);
    cpu->compute_ms = 0; /* the same batch may run again without a new layout */
    cpu->spans.span_count = 0;
    return STATUS_OK;
}

/* Users' operators were compiled when their files were read. */
static enum status prepare_nothing(struct lane *lane, const struct op *op, int depth, int channels,
                                   struct failure *failure) {
    (void)lane, (void)op, (void)depth, (void)channels, (void)failure;
    return STATUS_OK;
}

const struct device_driver device_cpu = {
    .kind = "cpu",
    .count = cpu_count,
    .describe = cpu_describe,
    .open = cpu_open,
    .close = cpu_close,
    .reserve = cpu_reserve,
    .trim = cpu_trim,
    .empty = cpu_empty,
    .prepare = prepare_nothing,
    .upload = copy_nothing,
    .scratch = cpu_scratch,
    .run = cpu_run,
    .download = copy_nothing,
    .finish = cpu_finish,
};
