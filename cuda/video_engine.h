// SPDX-License-Identifier: Apache-2.0
/* video_engine.h - the video engines of a GPU, which decode still HEVC pictures beside the kernels.
 *
 * The driver's libnvcuvid is opened where it is. Its parser is not used: parameters.h has read all
 * that the engine must know.
 *
 * Used by:  cuda/codecs/hevc_decode.cu; device_cuda.cu, which says whether there are engines.
 * Owns:     the library, and sessions of the sizes that were used last, until the last
 *           video_engine_close.
 * Fails:    returns 0 or false: the engine takes no picture, or not these. Damage is found by the
 *           engine; a picture that it conceals is refused.
 * Threads:  any whose current GPU is the one that is named. Two layers, of the colours or of alpha,
 *           have the engines at a time: one of 48 tiles of 512 x 512 alone takes 2.4 ms. Others
 *           wait.
 * Limits:   a session is opened in 40 ms: each of the first pictures of a size opens one. Sessions
 *           of VIDEO_SIZES sizes are kept, each with VIDEO_POOL_BYTES of surfaces, or one session.
 *           Pictures of a further size are refused while these were used within the last second.
 * Source:   NVIDIA's Video Codec SDK, by the headers of ffnvcodec (MIT); a build without these has
 *           no engine.
 */
#ifndef BURIN_VIDEO_ENGINE_H
#define BURIN_VIDEO_ENGINE_H

#include "pipeline/codecs/heic/parameters.h"
#include "pipeline/progress.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIDEO_SIZES = 2, VIDEO_POOL_BYTES = 512 << 20 };

struct video_picture {
    const struct hevc_parameters *parameters;
    struct hevc_unit slice;
};

/* A picture in the GPU's memory as it was coded: rows of luma, and rows of Cb and Cr in turn. A
 * sample of more than 8 bits is in the upper bits of 16. */
struct video_frame {
    uint64_t luma, chroma; /* addresses */
    size_t pitch;          /* bytes */
};

/* The reader of the frames, which are lent until `wait` returns. */
struct video_taker {
    const struct progress *progress; /* of the job; may be NULL */
    void *stream;                    /* a CUstream; frames are complete in its order */
    void *context;
    void (*begin)(void *context); /* the wait for the engines is over */
    bool (*take)(void *context, uint32_t number, const struct video_frame *frame); /* queues */
    bool (*wait)(void *context); /* until all that was queued is done */
};

/* Engines of GPU, the thread's current one, that decode HEVC. */
int video_engine_count(int gpu);

/* For each lane: the sessions end with the last. */
void video_engine_open(int gpu);
void video_engine_close(void);

/* Some GPU that was asked for has engines. */
bool video_engine_is_there(void);

/* Decodes COUNT pictures of one coded size and depth. True if each is whole. A cancelled or late
 * job ends the wait for the engines, and the work between two rounds. */
bool video_engine_decode(int gpu, const struct video_picture *pictures, uint32_t count,
                         const struct video_taker *taker);

#ifdef __cplusplus
}
#endif
#endif
