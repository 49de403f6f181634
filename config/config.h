// SPDX-License-Identifier: Apache-2.0
/* config.h - every setting of the daemon; read-only after start.
 *
 * One row of keys.c's table drives the file's key, the environment's BURIN_<KEY> and the flag
 * --<key with dashes>: flag over environment over file over default. A key, its field and its row
 * share one spelling; units stand last in the name.
 * Fails:  STATUS_BAD_PARAM with a sentence that names the key, where the value came from, and the
 *         nearest known key or the range.
 */
#ifndef BURIN_CONFIG_H
#define BURIN_CONFIG_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CONFIG_TEXT_MAX = 256 };

/* Plain data: the daemon hands it to its workers as it is. */
struct config {
    /* where the daemon listens */
    char listen[CONFIG_TEXT_MAX]; /* 127.0.0.1:8080; also [::1]:8080 or unix:/run/burin.sock */
    char admin_listen[CONFIG_TEXT_MAX]; /* "": probes and metrics on `listen` too (the default) */
    long io_threads;                    /* 2: threads that copy bytes between sockets and slots */
    long connections_max;               /* 1024 */
    bool insecure; /* false: refuse to listen on an address that is not loopback */

    /* what a request may cost */
    long body_bytes_max;     /* 64 MiB */
    long pixels_max;         /* 64 megapixels = 67108864, in and out */
    long side_max;           /* 65535 pixels */
    long scans_max;          /* 100, progressive JPEG */
    long scan_pixels_max;    /* 1.5e9: scans x pixels */
    long codec_memory_bytes; /* 512 MiB: what a decoder may take beyond the pixels */
    long profile_bytes_max;  /* 1 MiB of ICC profile */
    long header_bytes;       /* 16 KiB of request line and headers */
    long parts_max;          /* 8 parts of a multipart upload */
    long part_headers_bytes; /* 4096 */

    /* queue */
    long queue_jobs;  /* 256 jobs waiting at most */
    long queue_bytes; /* 512 MiB of bodies at most that come, wait or are worked on */

    /* the way out */
    long answer_bytes; /* 2 GiB of finished answers with their bodies held, and one more, at most */

    /* shared memory for requests, one slot each; a slot grows where its request does */
    long slots_small;  /* 256, with 256 KiB each touched at start */
    long slots_medium; /* 24, with 8 MiB each */
    long slots_large;  /* 40, with nothing touched */

    /* deadlines */
    long header_ms;        /* 10000 */
    long body_ms;          /* 30000, or at body_rate_bytes a second if that is longer */
    long body_rate_bytes;  /* 65536 a second: the slowest upload that is waited for */
    long body_pressed_ms;  /* 2000: in place of body_ms while no slot is free */
    long write_ms;         /* 30000, or at write_rate_bytes a second as the client takes it */
    long write_rate_bytes; /* 65536 a second: the slowest download that is waited for */
    long processing_ms;    /* 30000 */
    long keep_alive_ms;    /* 15000 */

    /* workers */
    char devices[CONFIG_TEXT_MAX]; /* "all": every GPU, a CPU worker standing by; or "cpu",
                                      "cuda:0,cuda:1" */
    long lanes;                    /* 0: one a core on the CPU, 4 on a GPU */
    long codec_threads;            /* 0: one a core; GPU workers */
    long batch;                    /* 32 images a lane takes at once on a GPU */
    long staging_bytes;            /* 64 MiB pinned, each way and lane */
    long arena_bytes;              /* 512 MiB of device memory a lane */
    long worker_start_ms;
    long self_test_ms; /* 5000 between known-answer jobs, and readings of a GPU */

    /* stop */
    long drain_delay_ms;   /* 0: how long to go on accepting after SIGTERM, readyz already 503 */
    long drain_timeout_ms; /* 30000 */

    /* log */
    char log_format[16]; /* json | text */
    char log_level[16];  /* info | error | off */
};

/* Defaults, then the file (PATH, or NULL: config/burin.json beside the program or its folder,
 * beside `build` for one made in a folder there, or /etc/burin/burin.json when one is there), then
 * the environment, then flags. Flags are taken out of ARGV; what is left over stays there in order
 * and ARGC is set. */
enum status config_load(struct config *config, const char *path, int *argc, char **argv,
                        struct failure *failure);

/* A line a key: flag, default, unit, meaning. For `burin serve --help`. */
void config_help(FILE *out);

/* A line a key: name, value in force, where it came from (default, file, environment, flag) of the
 * last config_load. For `burin config`; JSON with AS_JSON. */
void config_print(const struct config *config, FILE *out, bool as_json);

/* The shipped file's text, made from the table: config/burin.json equals it, and a test says so. */
void config_print_file(FILE *out);

#endif
