// SPDX-License-Identifier: Apache-2.0
/* device.h - what can run a plan: the CPU, or one GPU, seen through one door.
 *
 * A lane is one thread's share of a device: on a GPU a stream, pinned staging and a device arena,
 * on the CPU plain memory and threads. A lane runs a batch: reserve, fill `host_in`, upload, run
 * operators, download, finish, read `host_out`. A device with a codec of its own also takes files:
 * it decodes before the operators and encodes after them, and those pixels never leave it.
 *
 * Used by:  run.c walks a plan through it; the worker and the commands open lanes.
 * Owns:     the lane owns all memory it hands out, until the next reserve or trim.
 * Fails:    STATUS_NO_MEMORY (the lane has none until another reserve), STATUS_DEVICE (the process
 *           should end: a CUDA error of that kind spoils the context).
 * Threads:  a lane belongs to one thread at a time; lanes of one device work at the same time.
 */
#ifndef BURIN_DEVICE_H
#define BURIN_DEVICE_H

#include "pipeline/op.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jpeg_baseline; /* pipeline/codecs/jpeg/baseline.h */

/* What `burin devices` prints; 0 or "" where a device has no such thing. */
struct device_info {
    char name[96];
    char capability[16]; /* "9.0" */
    char vectors[96];    /* CPU: "AVX2 BMI2 F16C FMA" */
    char driver[64];     /* driver and runtime versions */
    char bus[32];        /* "0000:18:00.0" */
    char pcie[64];       /* the same with the link: "0000:18:00.0, Gen5 x16" */
    int multiprocessors; /* CPU: cores that this process may use */
    double memory_bytes, memory_free_bytes, l2_bytes;
    double clock_mhz, memory_clock_mhz;
    bool ecc;
    bool clusters; /* thread block clusters: compute capability 9.0 and up */
};

struct lane_options {
    size_t staging_bytes; /* made, touched and pinned at open, each way; CPU: kept at the most */
    size_t arena_bytes;   /* device memory made at open */
    struct pool *pool;    /* CPU: threads for an operator; NULL: the lane's own */
    /* What jobs too large for that may borrow, all lanes of the process together; device memory:
     * for each device. 0: as much as there is. */
    size_t pinned_pool_bytes, device_pool_bytes;
    size_t idle_bytes; /* CPU: kept, each way, even where no batch of late has had so much */
    /* CPU: what lanes of the process have together for batches larger than that. 0: as much as
     * there is. */
    size_t cpu_memory_bytes;
};

/* Memory for one batch, every pointer 256-byte aligned. On the CPU `in` is host_in, `out` host_out.
 */
struct lane {
    const struct device_driver *driver;
    uint8_t *host_in, *host_out; /* where the caller writes inputs and reads results */
    uint8_t *in, *work, *out;    /* these and more of them, and memory in between, on the device */
    size_t work_bytes;           /* of `work`, as run_reserve asked for them */
    size_t pinned_bytes;         /* page-locked staging; atomic: read by the GPU sampler too */
};

/* Asked some times a second while memory that other lanes have is waited for: STATUS_OK as long as
 * somebody wants what is to run there. CHECK may be NULL. */
struct lane_wait {
    enum status (*check)(const void *context);
    const void *context;
};

struct lane_need {
    size_t in, work, out;         /* bytes */
    size_t codec;                 /* of the heap, while the CPU's codecs are at work */
    size_t device_in, device_out; /* of `in` and `out`, what lies last and the device alone has */
    struct lane_wait wait;
};

/* The last batch, in milliseconds: by events on a GPU. What the files take to come to the device
 * and to leave it counts as upload and download. */
struct lane_times {
    double upload_ms, decode_ms, compute_ms, encode_ms, download_ms;
};

/* A JPEG that the device decodes. Stays where it is, with the file's bytes, until finish. */
struct lane_decoding {
    const struct jpeg_baseline *jpeg;
    struct image into; /* device memory */
    bool refused;      /* told by finish: the pixels mean nothing, the CPU's codec must decode it */
};

/* A JPEG that the device makes, with the bytes of the CPU's codec. Likewise. */
struct lane_encoding {
    struct image image; /* device memory */
    int quality;
    const uint8_t *profile; /* ICC, host memory; length 0: none */
    size_t profile_length;
    uint8_t *bytes; /* the file, in host memory; complete when finish returns */
    size_t capacity;
    size_t length; /* told by finish; 0: refused, the CPU's codec must encode it */
};

/* A device's own codec of baseline JPEGs. `work` of the lane is its memory while it is at work: the
 * bytes that all files of a batch need add up. What it cannot do alone it refuses, file by file. */
struct device_codec {
    /* Of `work`, for that one file; 0: it is left to the CPU's codec. Shapes alone are looked at.
     */
    size_t (*decode_bytes)(const struct jpeg_baseline *jpeg);
    size_t (*encode_bytes)(const struct lane_encoding *encoding);
    /* Both only queue work: decode behind upload, encode before download. */
    enum status (*decode)(struct lane *lane, struct lane_decoding *decodings, int count,
                          struct failure *failure);
    enum status (*encode)(struct lane *lane, struct lane_encoding *encodings, int count,
                          struct failure *failure);
    /* The device reads and writes files within BYTES..+LENGTH, whole pages, where they lie. Any
     * other memory it copies to and from. Not while lanes of the device are at work. A failure
     * leaves that memory as it was: usable, and copied. */
    enum status (*pin)(int index, uint8_t *bytes, size_t length, struct failure *failure);
    void (*unpin)(int index, uint8_t *bytes);
};

struct device_driver {
    const char *kind;                 /* "cpu" or "cuda" */
    const struct device_codec *codec; /* NULL: it takes pixels alone */
    int (*count)(void);
    enum status (*describe)(int index, struct device_info *info, struct failure *failure);

    enum status (*open)(int index, const struct lane_options *options, struct lane **lane,
                        struct failure *failure);
    void (*close)(struct lane *lane);

    enum status (*reserve)(struct lane *lane, const struct lane_need *need,
                           struct failure *failure);
    /* Between batches: gives back, to the system or to other lanes, a piece of what a large one
     * took beyond what is kept, in well under a millisecond. false where there was none. */
    bool (*trim)(struct lane *lane);
    /* Between batches: nothing that batches have left in the lane's memory, be it on the host or on
     * the device, can be read any more by those that come. */
    enum status (*empty)(struct lane *lane, struct failure *failure);
    /* Makes what OP needs for images of DEPTH bits and so many channels, so that its first run does
     * not have to: a user's operator is compiled. Runs nothing. By any thread, also while the lane
     * is at work. */
    enum status (*prepare)(struct lane *lane, const struct op *op, int depth, int channels,
                           struct failure *failure);
    /* One copy of host_in[0..bytes) to `in`. */
    enum status (*upload)(struct lane *lane, size_t bytes, struct failure *failure);
    /* Scratch bytes that OP wants for COUNT calls at once (their params and shapes are set). */
    size_t (*scratch)(struct lane *lane, const struct op *op, const struct op_call *calls,
                      int count);
    /* How many of the first of OPS, the next COUNT operators of a plan, belong together: one
     * piece of work may stand for all of them; 1: none. IN: what the first is given. READY: run may
     * be given the last one's calls with the others as `before`. NULL: nothing ever is. */
    int (*chain)(struct lane *lane, const struct op *const *ops, int count, const struct image *in,
                 bool *ready);
    /* One operator over COUNT images that share channels and depth, and but for those calls that
     * op.common asks for, params; scratch is
     * calls[0].scratch for all. On a GPU this only queues work. */
    enum status (*run)(struct lane *lane, const struct op *op, struct op_call *calls, int count);
    enum status (*download)(struct lane *lane, size_t bytes, struct failure *failure);
    /* Waits for all of it; STATUS_DEVICE when something on the way failed. SPANS may be NULL. */
    enum status (*finish)(struct lane *lane, struct lane_times *times, struct timing *spans,
                          struct failure *failure);
};

extern const struct device_driver device_cpu;
extern const struct device_driver device_cuda; /* count() is 0 where there is no GPU or no CUDA */

/* "cpu", "cuda", "cuda:1" or "auto" -> driver and index. auto: the first GPU, else the CPU.
 * STATUS_BAD_PARAM for anything else, or a GPU that is not there. */
enum status device_choose(const char *text, const struct device_driver **driver, int *index,
                          struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif
