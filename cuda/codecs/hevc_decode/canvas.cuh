// SPDX-License-Identifier: Apache-2.0
/* canvas.cuh - the planes of a whole HEIC in the GPU's memory, filled tile by tile.
 *
 * How it works. Planes of luma, of chroma and of alpha, if there is some, lie one behind the other,
 * then the tables of ycbcr.h. Frames of the engine are copied on the lane's stream, each as far as
 * the picture goes.
 *
 * Used by:  hevc_decode.cu.
 * Owns:     nothing.
 * Threads:  the lane's.
 */
#ifndef BURIN_HEVC_CANVAS_CUH
#define BURIN_HEVC_CANVAS_CUH

#include "cuda/video_engine.h"
#include "pipeline/codecs/common/ycbcr.h"
#include "pipeline/codecs/heic/still.h"

#include <cuda_runtime.h>
#include <stdlib.h>

enum { CANVAS_ALIGN = 256 };

static inline size_t canvas_aligned(size_t bytes) {
    return (bytes + CANVAS_ALIGN - 1) / CANVAS_ALIGN * CANVAS_ALIGN;
}

/* ---- planes of the whole picture */

/* Samples as the engine leaves them. */
struct canvas {
    uint8_t *luma, *chroma, *alpha; /* chroma: Cb and Cr in turn; alpha: NULL if there is none */
    size_t stride, chroma_stride;
    uint32_t width, height;
    unsigned bits;
    int32_t *tables;
};

static inline size_t canvas_table_bytes(unsigned bits) {
    return sizeof(int32_t) * YCBCR_PRODUCTS << bits;
}

static inline struct canvas place_canvas(const struct heic_still *still, uint8_t *work,
                                         size_t *bytes) {
    const struct isobmff_picture *picture = &still->header.picture;
    const size_t sample = still->header.bits > 8 ? 2 : 1;
    struct canvas canvas = {};
    canvas.width = picture->width;
    canvas.height = picture->height;
    canvas.bits = still->header.bits;
    canvas.stride = canvas_aligned(picture->width * sample);
    canvas.chroma_stride = canvas_aligned((picture->width + 1) / 2 * 2 * sample);
    const size_t luma = canvas.stride * picture->height;
    const size_t chroma = canvas.chroma_stride * ((picture->height + 1) / 2);
    canvas.luma = work;
    canvas.chroma = canvas.luma + luma;
    canvas.alpha = picture->alpha ? canvas.chroma + chroma : NULL;
    canvas.tables = (int32_t *)(canvas.chroma + chroma + (picture->alpha ? luma : 0));
    *bytes = luma + chroma + (picture->alpha ? luma : 0) +
             canvas_aligned(canvas_table_bytes(canvas.bits));
    return canvas;
}

/* False: the colours have a matrix that is not read. The caller calls ycbcr_release anyway. */
static inline bool make_tables(const struct heic_still *still, const struct canvas *canvas,
                               struct ycbcr *ycbcr) {
    const struct isobmff_nclx *nclx = &still->header.picture.nclx;
    struct ycbcr_planes planes = {};
    planes.planes[0] = canvas->luma;
    planes.planes[1] = planes.planes[2] = canvas->chroma; /* only whether they are there matters */
    planes.width = canvas->width;
    planes.height = canvas->height;
    planes.bits = canvas->bits;
    planes.halved_x = planes.halved_y = true;
    planes.limited = !nclx->full;
    planes.matrix = nclx->matrix;
    return ycbcr_init(ycbcr, &planes, NULL) == STATUS_OK;
}

/* ---- tiles */

/* The wait for the engines, which ends before the first tile. */
struct engine_wait {
    const struct progress *progress; /* of the job */
    bool over;
    double ms;            /* its length */
    cudaEvent_t ended[2]; /* recorded then, on the lane's stream; NULL: none */
};

struct taking {
    struct engine_wait *wait;
    int64_t since_ns; /* of clock_ns: the wait began */
    const struct canvas *canvas;
    const struct isobmff_tiling *tiling;
    const struct heic_still_tile *tiles;
    bool alpha;
    cudaStream_t stream;
    cudaError_t error;
};

/* Queues the copy of a plane: of WIDTH bytes and HEIGHT rows, as far as the canvas goes. */
static inline bool copy_plane(struct taking *taking, uint8_t *to, size_t stride, uint64_t from,
                              size_t pitch, size_t width, size_t height) {
    if (taking->error == cudaSuccess)
        taking->error = cudaMemcpy2DAsync(to, stride, (const uint8_t *)(uintptr_t)from, pitch,
                                          width, height, cudaMemcpyDeviceToDevice, taking->stream);
    return taking->error == cudaSuccess;
}

static inline void begin_tiles(void *context) {
    struct taking *taking = (struct taking *)context;
    struct engine_wait *wait = taking->wait;
    if (wait->over) return;
    wait->over = true;
    wait->ms = ns_to_ms(clock_ns() - taking->since_ns);
    for (int i = 0; i < 2; i++)
        if (wait->ended[i]) cudaEventRecord(wait->ended[i], taking->stream);
}

static inline bool take_tile(void *context, uint32_t number, const struct video_frame *frame) {
    struct taking *taking = (struct taking *)context;
    const struct canvas *canvas = taking->canvas;
    const struct isobmff_tiling *tiling = taking->tiling;
    const struct hevc_parameters *p = &taking->tiles[number].parameters;
    const uint32_t x = number % tiling->columns * tiling->width;
    const uint32_t y = number / tiling->columns * tiling->height;
    const uint32_t right = canvas->width - x, below = canvas->height - y;
    const uint32_t width = tiling->width < right ? tiling->width : right;
    const uint32_t height = tiling->height < below ? tiling->height : below;
    const size_t sample = canvas->bits > 8 ? 2 : 1;
    uint8_t *plane = taking->alpha ? canvas->alpha : canvas->luma;
    if (!copy_plane(taking, plane + y * canvas->stride + x * sample, canvas->stride,
                    frame->luma + p->top * frame->pitch + p->left * sample, frame->pitch,
                    width * sample, height))
        return false;
    return taking->alpha ||
           copy_plane(taking, canvas->chroma + y / 2 * canvas->chroma_stride + x * sample,
                      canvas->chroma_stride,
                      frame->chroma + p->top / 2 * frame->pitch + p->left * sample, frame->pitch,
                      (width + 1) / 2 * 2 * sample, (height + 1) / 2);
}

static inline bool wait_for_copies(void *context) {
    struct taking *taking = (struct taking *)context;
    const cudaError_t error = cudaStreamSynchronize(taking->stream);
    if (taking->error == cudaSuccess) taking->error = error;
    return error == cudaSuccess;
}

/* Decodes the tiles of the colours, or of ALPHA, into CANVAS. *WHOLE: none is refused, and the job
 * is still wanted. */
static inline cudaError_t decode_tiles(cudaStream_t stream, const struct heic_still *still,
                                       bool alpha, const struct canvas *canvas,
                                       struct engine_wait *wait, bool *whole) {
    const uint32_t count = heic_still_count(still, alpha);
    struct heic_still_tile *tiles = (struct heic_still_tile *)calloc(count, sizeof *tiles);
    struct video_picture *pictures = (struct video_picture *)calloc(count, sizeof *pictures);
    struct taking taking = { wait,  0,     canvas, &still->header.tiling[alpha],
                             tiles, alpha, stream, cudaSuccess };
    const struct video_taker taker = { wait->progress, stream,    &taking,
                                       begin_tiles,    take_tile, wait_for_copies };
    int gpu = 0;
    *whole = tiles && pictures && heic_still_tiles(still, alpha, tiles);
    for (uint32_t i = 0; i < count && *whole; i++)
        pictures[i] = { &tiles[i].parameters, tiles[i].slice };
    taking.error = cudaGetDevice(&gpu);
    taking.since_ns = clock_ns();
    *whole = *whole && video_engine_decode(gpu, pictures, count, &taker);
    free(pictures);
    free(tiles);
    return taking.error;
}

#endif
