// SPDX-License-Identifier: Apache-2.0
/* How it works. The engine leaves each tile in a surface of its own. Tiles are copied into planes
 * of the whole picture (canvas.cuh), so that chroma is widened over their borders; then a kernel
 * makes pixels (pixels.cuh). */
#include "cuda/codecs/hevc_decode.h"

#include "cuda/check.cuh"
#include "cuda/codecs/hevc_decode/pixels.cuh"
#include "cuda/timeline.cuh"

size_t hevc_decode_bytes(const struct heic_still *still) {
    size_t bytes;
    place_canvas(still, NULL, &bytes);
    return video_engine_is_there() ? bytes : 0;
}

static enum status make_pixels(const struct cuda_context *context, const struct heic_still *still,
                               const struct canvas *canvas, const struct image *into,
                               struct failure *failure) {
    const struct pixels pixels = pixels_of(still, canvas, into);
    const dim3 blocks((into->width + PIXELS_SIDE - 1) / PIXELS_SIDE,
                      (into->height + PIXELS_SIDE - 1) / PIXELS_SIDE);
    const dim3 threads(PIXELS_SIDE, PIXELS_SIDE);
    if (canvas->bits > 8 && canvas->alpha)
        pixels_kernel<true, true><<<blocks, threads, 0, context->stream>>>(pixels);
    else if (canvas->bits > 8)
        pixels_kernel<true, false><<<blocks, threads, 0, context->stream>>>(pixels);
    else if (canvas->alpha)
        pixels_kernel<false, true><<<blocks, threads, 0, context->stream>>>(pixels);
    else
        pixels_kernel<false, false><<<blocks, threads, 0, context->stream>>>(pixels);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* ---- all of it */

/* Copies the CPU's tables to the canvas; *KNOWN: the colours have a matrix that is read. */
static enum status copy_tables(const struct cuda_context *context, const struct heic_still *still,
                               const struct canvas *canvas, bool *known, struct failure *failure) {
    struct ycbcr ycbcr;
    *known = make_tables(still, canvas, &ycbcr);
    const cudaError_t error =
        *known ? cudaMemcpyAsync(canvas->tables, ycbcr.tables, canvas_table_bytes(canvas->bits),
                                 cudaMemcpyHostToDevice, context->stream)
               : cudaSuccess; /* pageable memory: it is copied before the call returns */
    ycbcr_release(&ycbcr);
    CUDA_TRY(failure, error);
    return STATUS_OK;
}

enum status hevc_decode(const struct cuda_context *context, struct lane_decoding *decoding,
                        uint8_t *work, struct failure *failure) {
    const struct heic_still *still = decoding->heic;
    static const char *const stages[] = { "engine", "pixels" };
    cudaEvent_t events[3] = {};
    size_t bytes;
    const struct canvas canvas = place_canvas(still, work, &bytes);
    const bool timed = timeline_lend(context->timeline, SPAN_DECODE, stages, 2, events);
    bool good;
    if (timed) cudaEventRecord(events[0], context->stream);
    enum status status = copy_tables(context, still, &canvas, &good, failure);
    /* The batch's times begin with the engines' work. */
    struct engine_wait wait = { decoding->progress, false, 0, {} };
    if (timed) wait.ended[0] = context->timeline->start, wait.ended[1] = events[0];
    for (int layer = 0; layer < 1 + still->header.picture.alpha && !status && good; layer++) {
        const cudaError_t error =
            decode_tiles(context->stream, still, layer, &canvas, &wait, &good);
        if (error) status = cuda_fail(failure, error, "decode_tiles", __FILE__, __LINE__);
    }
    if (timed) cudaEventRecord(events[1], context->stream);
    if (!status && good) status = make_pixels(context, still, &canvas, &decoding->into, failure);
    if (timed) cudaEventRecord(events[2], context->stream);
    decoding->queue_ms = wait.ms;
    decoding->refused = !good;
    return status || good ? status : progress_state(decoding->progress);
}
