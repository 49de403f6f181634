// SPDX-License-Identifier: Apache-2.0
/* device.h - what can run a plan, the CPU or one GPU, behind one interface.
 *
 * A lane is one thread's share of a device: on a GPU a stream, pinned staging and a device arena,
 * on the CPU plain memory and threads. A lane runs a batch: reserve, fill `host_in`, upload, run
 * operators, download, finish, read `host_out`. A device with its own codec also takes files: it
 * decodes before the operators and encodes after them, and those pixels never leave the device.
 *
 * Used by:  run.c walks a plan through it; the worker and the commands open lanes.
 * Owns:     the lane owns all memory it hands out, until the next reserve or trim.
 * Fails:    STATUS_NO_MEMORY (the lane has none until the next reserve), STATUS_DEVICE (the process
 *           should end: such a CUDA error leaves the context unusable).
 * Threads:  a lane belongs to one thread at a time; lanes of one device work at the same time.
 */
#ifndef BURIN_DEVICE_H
#define BURIN_DEVICE_H

#include "pipeline/carried.h"
#include "pipeline/op.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jpeg_baseline; /* pipeline/codecs/jpeg/baseline.h */
struct heic_still;    /* pipeline/codecs/heic/still.h */

/* The facts that `burin devices` prints; 0 or "" where a device has no such value. */
struct device_info {
    char name[96];
    char capability[16]; /* "9.0" */
    char vectors[96];    /* CPU: "AVX2 BMI2 F16C FMA" */
    char driver[64];     /* driver and runtime versions */
    char bus[32];        /* "0000:18:00.0" */
    char pcie[64];       /* the bus with its link: "0000:18:00.0, Gen5 x16" */
    int multiprocessors; /* CPU: cores that this process may use */
    double memory_bytes, memory_free_bytes, l2_bytes;
    double clock_mhz, memory_clock_mhz;
    bool ecc;
    bool clusters; /* thread block clusters: compute capability 9.0 and up */
    int engines;   /* for video, that decode HEVC */
};

struct lane_options {
    size_t staging_bytes; /* allocated, touched and pinned at open, each way; CPU: kept at most */
    size_t arena_bytes;   /* device memory allocated at open */
    struct pool *pool;    /* CPU: threads for an operator; NULL: the lane's own thread */
    /* The most that all lanes of the process borrow together for jobs that do not fit; device
     * memory: for each device. 0: no bound. */
    size_t pinned_pool_bytes, device_pool_bytes;
    size_t idle_bytes; /* CPU: kept each way even where no recent batch used as much */
    /* CPU: the most that all lanes have together for batches larger than that. 0: no bound. */
    size_t cpu_memory_bytes;
};

/* Memory for one batch, every pointer 256-byte aligned. On the CPU `in` is host_in, `out` host_out.
 */
struct lane {
    const struct device_driver *driver;
    uint8_t *host_in, *host_out; /* where the caller writes inputs and reads results */
    uint8_t *in, *work, *out;    /* the same and more, with memory in between, on the device */
    size_t work_bytes;           /* bytes of `work` that run_reserve asked for */
    size_t pinned_bytes;         /* page-locked staging; atomic: read by the GPU sampler too */
};

/* Called several times a second while the lane waits for memory of other lanes: STATUS_OK while the
 * result is still wanted. CHECK may be NULL. */
struct lane_wait {
    enum status (*check)(const void *context);
    const void *context;
};

struct lane_need {
    size_t in, work, out;         /* bytes */
    size_t codec;                 /* heap used by the CPU's codecs */
    size_t device_in, device_out; /* the last bytes of `in` and `out`, which only the device has */
    size_t image;                 /* the largest one's, of inputs and of what steps make */
    /* The batch goes on: what lies in host_in and in the first `in` bytes stays. These are no more
     * than before. STATUS_NO_MEMORY where that cannot be. */
    bool keep;
    struct lane_wait wait;
};

/* The last batch, in milliseconds; a GPU measures with events. Copying files to and from the device
 * counts as upload and download. */
struct lane_times {
    double upload_ms, decode_ms, compute_ms, encode_ms, download_ms;
};

/* A JPEG or a HEIC that the device decodes. The record and the file's bytes stay in place until
 * finish. */
struct lane_decoding {
    const struct jpeg_baseline *jpeg;
    const struct heic_still *heic;   /* one of the two is NULL */
    const struct progress *progress; /* of the job that may wait for the engines; may be NULL */
    struct image into;               /* device memory */
    bool refused;    /* the pixels are invalid, the CPU's codec must decode it; for a JPEG set by
                     finish, for a HEIC by decode */
    double queue_ms; /* set by decode: the wait for the engines */
};

/* A JPEG that the device encodes to the bytes of the CPU's codec; it stays in place until finish.
 */
struct lane_encoding {
    struct image image; /* device memory */
    int quality;
    struct carried carried;
    uint8_t *bytes; /* the file, in host memory; complete when finish returns */
    size_t capacity;
    size_t length; /* set by finish; 0: refused, the CPU's codec must encode it */
};

/* A device's own codec of baseline JPEGs, which may decode HEIC too. It works in the lane's `work`,
 * which must hold the sum of the bytes that all files of a batch need. Files that it cannot process
 * are refused one by one. */
struct device_codec {
    /* Returns the bytes of `work` that one file needs, from its shape; 0: the device cannot take
     * it. */
    size_t (*decode_bytes)(const struct jpeg_baseline *jpeg);
    size_t (*still_bytes)(const struct heic_still *heic); /* NULL: it takes no HEIC */
    size_t (*encode_bytes)(const struct lane_encoding *encoding);
    /* Both only queue work: decode after upload, encode before download. A HEIC is alone, and
     * decode waits for the engines; STATUS_CANCELLED and STATUS_DEADLINE end that wait. */
    enum status (*decode)(struct lane *lane, struct lane_decoding *decodings, int count,
                          struct failure *failure);
    enum status (*encode)(struct lane *lane, struct lane_encoding *encodings, int count,
                          struct failure *failure);
    /* Makes BYTES..+LENGTH, whole pages, memory that the device reads and writes in place; other
     * memory is copied. After a failure the memory is usable and still copied. unpin ends it for
     * all such memory that begins in BYTES..+LENGTH. Any thread; no lane may use the memory. */
    enum status (*pin)(int index, uint8_t *bytes, size_t length, struct failure *failure);
    void (*unpin)(int index, uint8_t *bytes, size_t length);
};

struct device_driver {
    const char *kind;                 /* "cpu" or "cuda" */
    const struct device_codec *codec; /* NULL: the device takes only pixels */
    int (*count)(void);
    enum status (*describe)(int index, struct device_info *info, struct failure *failure);

    enum status (*open)(int index, const struct lane_options *options, struct lane **lane,
                        struct failure *failure);
    void (*close)(struct lane *lane);

    enum status (*reserve)(struct lane *lane, const struct lane_need *need,
                           struct failure *failure);
    /* Between batches: returns one piece of what a large batch took beyond what is kept to the
     * system or to other lanes, in well under a millisecond. false where there was none. */
    bool (*trim)(struct lane *lane);
    /* Between batches: erases what earlier batches left in the lane's memory, on the host and the
     * device, so that later ones cannot read it. */
    enum status (*empty)(struct lane *lane, struct failure *failure);
    /* Prepares OP for images of DEPTH bits and CHANNELS channels, so that its first run need not: a
     * user's operator is compiled. Runs nothing. Any thread may call it, also while the lane works.
     */
    enum status (*prepare)(struct lane *lane, const struct op *op, int depth, int channels,
                           struct failure *failure);
    /* Copies host_in[0..bytes) to `in` in one piece. */
    enum status (*upload)(struct lane *lane, size_t bytes, struct failure *failure);
    /* Returns the scratch bytes that OP needs for COUNT calls at once, whose params and shapes are
     * set. */
    size_t (*scratch)(struct lane *lane, const struct op *op, const struct op_call *calls,
                      int count);
    /* Returns how many of the first of OPS, the next COUNT operators of a plan, can run as one
     * piece of work; 1: none. IN is the first operator's input. READY: run accepts the last one's
     * calls with the others as `before`. NULL: never. */
    int (*chain)(struct lane *lane, const struct op *const *ops, int count, const struct image *in,
                 bool *ready);
    /* Runs one operator over COUNT images that share channels, depth and params (calls that
     * op.common asks for may differ in params). All use the scratch calls[0].scratch. On a GPU this
     * only queues work. */
    enum status (*run)(struct lane *lane, const struct op *op, struct op_call *calls, int count);
    enum status (*download)(struct lane *lane, size_t bytes, struct failure *failure);
    /* Waits until all queued work is done; STATUS_DEVICE if any of it failed. SPANS may be NULL. */
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
