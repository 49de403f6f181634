// SPDX-License-Identifier: Apache-2.0
/* config.h - every setting of the daemon; read-only after start, but for a few keys.
 *
 * One row of keys.c drives the file's key, the environment's BURIN_<KEY> and the flag --<key with
 * dashes>; it holds the default, the range, the unit and the reason. A key, its field and its row
 * have the same name, which ends with the unit.
 *
 * Used by:  the commands load it; http/ and dispatch/ read it, and workers read a copy in the
 *           slots.
 * Owns:     nothing; a config is plain data.
 * Fails:    STATUS_BAD_PARAM with a sentence that names the key, the source of the value, and the
 *           nearest known key or the range.
 * Threads:  config_load runs before there are threads; any may read a config afterwards.
 */
#ifndef BURIN_CONFIG_H
#define BURIN_CONFIG_H

#include "pipeline/format.h"
#include "pipeline/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CONFIG_TEXT_MAX = 256, CONFIG_ORIGINS_MAX = 1024 /* networks too */ };

struct config {
    /* addresses and clients */
    char listen[CONFIG_TEXT_MAX];
    char admin_listen[CONFIG_TEXT_MAX]; /* "": none, `listen` serves everything */
    long io_threads;
    long connections_max;
    bool insecure;
    char keys_file[CONFIG_TEXT_MAX]; /* "": nobody is asked for a key */
    long quota_divisor;
    char cors_origins[CONFIG_ORIGINS_MAX];    /* origins.h reads it; "": pages of no other site */
    char trusted_proxies[CONFIG_ORIGINS_MAX]; /* networks.h reads it; "": none */
    char prefer[CONFIG_TEXT_MAX];             /* types.h reads it; "": the input's type */

    /* limits of one request */
    long body_bytes_max;
    long pixels_max;
    long frames_max;
    long side_max;
    long encode_still_ms;
    long scans_max;
    long scan_pixels_max;
    long codec_memory_bytes;
    long profile_bytes_max;
    long metadata_bytes_max;
    long header_bytes;
    long parts_max;
    long part_headers_bytes;

    /* limits of all requests together */
    long queue_jobs;
    long refusals_percent;
    long queue_bytes;
    long answer_bytes;

    /* shared memory, a slot for each request, which grows with the request */
    long slots; /* without those for each GPU */
    long slot_idle_ms;

    /* deadlines */
    long header_ms;
    long body_ms;
    long body_rate_bytes;
    long body_pressed_ms;
    long pressed_rate_bytes;
    long write_ms;
    long write_rate_bytes;
    long processing_ms;
    long refuse_times; /* 0: never refuse by prediction */
    long keep_alive_ms;
    long idle_pressed_ms;

    /* workers */
    char devices[CONFIG_TEXT_MAX]; /* devices.h reads it */
    long lanes;                    /* 0: depends on the device */
    long many_lanes;
    long codec_threads; /* 0: one per core */
    long batch;
    long staging_bytes, idle_bytes, cpu_memory_bytes;
    long arena_bytes;
    long pinned_pool_bytes;
    long device_pool_bytes;
    long worker_start_ms;
    long self_test_ms;
    long worker_still_ms;
    long launcher_still_ms;
    long no_worker_ms;
    long cells;
    long cell_idle_ms;

    /* pictures that the server keeps */
    char overlays_dir[CONFIG_TEXT_MAX]; /* "": there are none */
    long overlays_bytes_max;

    /* users' operators */
    char operators_dir[CONFIG_TEXT_MAX];       /* "": there are none */
    char operators_cache_dir[CONFIG_TEXT_MAX]; /* "": as twin_cache.h finds it */
    long operators_source_bytes_max;
    long operators_compile_ms;
    long operators_compile_bytes;

    char sandbox[8]; /* "on" or "off"; server/sandbox/sandbox.h */

    /* stop */
    long drain_delay_ms;
    long drain_timeout_ms;
    long drain_client_ms;

    /* log */
    char log_format[16];
    char log_level[16];
    long log_buffer_bytes;
};

/* Loads defaults, then the file, then the environment, then flags: the last wins. The file is PATH,
 * or if that is NULL the one of the search in README.md. Removes flags from ARGV, keeps the other
 * arguments in their order, and updates ARGC. ARGC NULL: the file is read again, and has to be a
 * regular one. */
enum status config_load(struct config *config, const char *path, int *argc, char **argv,
                        struct failure *failure);

/* A number that SIGHUP may change while other threads read it (config_take). */
static inline long config_now(const long *key) {
    return __atomic_load_n(key, __ATOMIC_RELAXED);
}

/* The file that config_load has read; "": none. */
const char *config_file(void);

/* Takes over the keys of NEXT, which another process has loaded from the same file, that may change
 * now and that no flag sets. Adds the names of the others that differ to RESTART, a list or NULL.
 * The main thread. */
void config_take(struct config *config, const struct config *next, json_t *restart);

/* Prints for each key the name, the value in force, and its source in the last config_load
 * (default, file, environment, flag). For `burin config`; JSON with AS_JSON. */
void config_print(const struct config *config, FILE *out, bool as_json);

#endif
