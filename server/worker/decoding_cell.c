// SPDX-License-Identifier: Apache-2.0
/* How it works. Libraries are opened, the process is limited and confined, and only then does it
 * say that it is ready; so no byte of an image is seen before. The limit of memory is raised or
 * lowered for each job, below one that stays: it keeps a file that is a bomb from taking more than
 * its header announces, not an attacker who has taken the process over. An encoder, which reads
 * pixels alone, has the limit that stays. */
#include "server/worker/decoding_cell.h"

#include "config/memory.h"
#include "pipeline/aux_image.h"
#include "pipeline/codecs/avif/library.h"
#include "server/jobs/channel.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/sandbox/sandbox.h"
#include "server/sandbox/sandbox_calls.h"
#include "server/worker/executor.h"
#include "server/worker/heartbeat.h"
#include "server/worker/worker.h"

#include <isa-l/crc.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* SPARE_BYTES: beside a decoder, for what the C library and the heartbeat's stack take. NICE: short
 * jobs of the CPU's worker come first. */
enum { SPARE_BYTES = PROCESS_STACK_BYTES + (16 << 20), NICE = 5 };

struct cell {
    struct slots *slots; /* one */
    int channel;
    struct codec_limits limits;
    size_t base_bytes; /* of data that the process has before its first job; 0: not known */
    size_t most_bytes; /* that a job may take beside that */
    struct heartbeat heartbeat;
};

/* ---- memory */

/* Bytes of the process's private writable memory, which RLIMIT_DATA limits; 0: not known. */
static size_t data_bytes(void) {
    FILE *status = fopen("/proc/self/status", "re");
    char line[128];
    size_t kilobytes = 0;
    while (status && !kilobytes && fgets(line, sizeof line, status))
        if (sscanf(line, "VmData: %zu", &kilobytes) != 1) kilobytes = 0;
    if (status) fclose(status);
    return kilobytes << 10;
}

/* The process may take BYTES beside what it had at the start. HARD: never again more. */
static void limit_memory(const struct cell *cell, size_t bytes, bool hard) {
    struct rlimit limit;
    if (!cell->base_bytes || getrlimit(RLIMIT_DATA, &limit)) return;
    const rlim_t most = cell->base_bytes + SPARE_BYTES + bytes;
    if (hard && most < limit.rlim_max) limit.rlim_max = most;
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    setrlimit(RLIMIT_DATA, &limit);
}

/* ---- a job */

static enum status decode_image(struct cell *cell, struct job *job, uint8_t *bytes) {
    struct codec_limits limits = cell->limits;
    struct metadata metadata = { 0 };
    struct image into = job->probe.shape;
    uint32_t notes = 0;
    into.stride = image_row_bytes(&into);
    into.pixels = bytes + job->pixels_offset;
    limits.accept_damage = job->accept_damage;
    limit_memory(cell, codec_memory_decode(&job->probe, limits.memory_max), false);
    const enum status status =
        codec_decode(bytes + job->image_offset, job->image_length, &job->probe, &limits,
                     &job->progress, &into, &metadata, &notes, &job->failure);
    job->profile_length = metadata.profile_length;
    job->profile_offset = metadata.profile_length ? job->pixels_end : 0;
    if (metadata.profile_length)
        memcpy(bytes + job->profile_offset, metadata.profile, metadata.profile_length);
    job->notes = notes;
    memcpy(job->warning, metadata.warning, sizeof job->warning);
    metadata_release(&metadata);
    return status;
}

static enum status decode_aux(struct cell *cell, struct job *job, const struct job_aux *aux,
                              uint8_t *bytes) {
    struct image into = job_aux_shape(aux);
    into.stride = image_row_bytes(&into);
    into.pixels = bytes + aux->pixels_offset;
    limit_memory(cell, (size_t)job_aux_memory(aux, cell->limits.memory_max), false);
    return fail_named(aux->name,
                      aux_image_decode(bytes + aux->offset, aux->length, &aux->probe, &cell->limits,
                                       &job->progress, &into, &job->failure),
                      &job->failure);
}

static void decode(struct cell *cell, struct job *job, uint8_t *bytes) {
    if (job->decodes_apart) decode_image(cell, job, bytes);
    for (int p = 0; p < OP_AUX_MAX && !job->failure.status; p++)
        if (job->aux[p].apart) decode_aux(cell, job, &job->aux[p], bytes);
}

/* Puts a file in place of the pixels of OUTPUT, behind all that is in the slot. */
static enum status encode_output(struct cell *cell, struct job *job, uint8_t *bytes,
                                 struct job_output *output) {
    const struct encode_options options = job_encode_options(job, output);
    const struct metadata metadata = { .profile = bytes + job->profile_offset,
                                       .profile_length = job->profile_length };
    const uint64_t at = slot_aligned(job_bytes_end(job)), span = slot_span(cell->slots);
    const int64_t start = clock_ns();
    struct image image = output->image;
    size_t length = 0;
    image.stride = image_row_bytes(&image);
    image.pixels = bytes + output->offset;
    const enum status status = codec_encode_fitting(
        &image, &metadata, &options, &job->progress, bytes + at, at < span ? span - at : 0, &length,
        &output->fitting, &output->notes, &job->failure);
    output->offset = at;
    output->length = length;
    output->encode_ms = (float)ns_to_ms(clock_ns() - start);
    if (!status && job->checksums) output->checksum = crc32_gzip_refl(0, bytes + at, length);
    return status;
}

static void encode(struct cell *cell, struct job *job, uint8_t *bytes) {
    limit_memory(cell, cell->most_bytes, false);
    for (int o = 0; o < job_output_count(job) && !job->failure.status; o++)
        if (job->outputs[o].apart) encode_output(cell, job, bytes, &job->outputs[o]);
}

/* A message that was sent twice has the number of the run that was received last. */
static void run_job(struct cell *cell, const struct message *message) {
    if (message->slot) return;
    struct job *job = slot_job(cell->slots, 0);
    if (__atomic_exchange_n(&job->received, message->run_number, __ATOMIC_RELAXED) ==
        message->run_number)
        return;
    const int64_t start = clock_ns();
    __atomic_store_n(&job->started, 1, __ATOMIC_RELEASE);
    job->timing = (struct timing){ .span_count = 0 };
    job->timing.stage_ms[STAGE_QUEUE] = ns_to_ms(start - job->submitted_ns);
    job->failure = (struct failure){ .status = STATUS_OK };
    job->batch = 1;
    if (job->run == RUN_DECODE)
        decode(cell, job, slot_bytes(cell->slots, 0));
    else
        encode(cell, job, slot_bytes(cell->slots, 0));
    job->timing.stage_ms[job->run == RUN_DECODE ? STAGE_DECODE : STAGE_ENCODE] =
        ns_to_ms(clock_ns() - start);
    malloc_trim(0);
    worker_finish_job(job, 0);
}

/* ---- life */

static void serve(struct cell *cell) {
    struct message message;
    int count;
    while ((count = channel_take(cell->channel, &message, 1, CHANNEL_FOREVER)) != 0) {
        if (count < 0) continue;
        if (message.kind == CHANNEL_RUN) run_job(cell, &message);
        if (message.kind == CHANNEL_SELF_TEST)
            channel_send(cell->channel, &(struct message){ .kind = CHANNEL_SELF_TESTED, .ok = 1 });
    }
}

static void say_ready(struct cell *cell) {
    struct message ready = { .kind = CHANNEL_READY,
                             .capacity = 1,
                             .lanes = 1,
                             .thread = cell->heartbeat.number,
                             .text = "cpu" };
    heartbeat_set_ready(&cell->heartbeat, &ready);
    channel_send(cell->channel, &ready);
}

int decoding_cell_run(struct slots *slots, int channel) {
    const struct config *config = slots_preamble(slots);
    struct cell cell = { .slots = slots,
                         .channel = channel,
                         .limits = executor_limits(config),
                         .heartbeat = { .channel = channel } };
    struct failure failure = { 0 };
    cell.limits.exposed = false;
    cell.most_bytes = (size_t)memory_cells(config);
    codec_open_libraries(); /* while files can be opened */
    if (!avif_reading_missing() && !avif_reads_by_dav1d())
        log_event(LOG_ERROR, "decoder_unusual",
                  "libavif has no dav1d here: AVIF is read by "
                  "another decoder of its choice");
    cell.base_bytes = data_bytes();
    mallopt(M_PERTURB, 0xa5); /* free() overwrites memory, so that no picture is left of a job */
    setpriority(PRIO_PROCESS, 0, NICE);
    sandbox_limit(SANDBOX_CPU, config, NULL); /* before there are other threads */
    limit_memory(&cell, cell.most_bytes, true);
    if (!heartbeat_start(&cell.heartbeat) || sandbox_calls_confine(CONFINED_CELL, &failure)) {
        log_event(LOG_ERROR, "worker_failed", "decoding cell: %s",
                  failure.status ? failure.message : "no thread for the heartbeat");
        return WORKER_FAILED;
    }
    say_ready(&cell);
    serve(&cell);
    heartbeat_join(&cell.heartbeat);
    return 0;
}
