// SPDX-License-Identifier: Apache-2.0
/* How it works. The engine leaves each tile in a surface of its own. Tiles are copied into planes
 * of the whole picture, so that chroma is widened over their borders; then a kernel makes pixels,
 * each thread one, by the tables and formulas of ycbcr.h. Threads follow the rows of the result,
 * which the orientation may have turned. */
#include "cuda/codecs/hevc_decode.h"

#include "cuda/check.cuh"
#include "cuda/timeline.cuh"
#include "cuda/video_engine.h"
#include "pipeline/codecs/common/oriented_rows.h"
#include "pipeline/codecs/common/ycbcr.h"

#include <stdlib.h>

enum { ALIGN = 256, SIDE = 32 /* of a block of threads */ };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
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

static struct canvas place_canvas(const struct heic_still *still, uint8_t *work, size_t *bytes) {
    const struct isobmff_picture *picture = &still->header.picture;
    const size_t sample = still->header.bits > 8 ? 2 : 1;
    struct canvas canvas = {};
    canvas.width = picture->width;
    canvas.height = picture->height;
    canvas.bits = still->header.bits;
    canvas.stride = aligned(picture->width * sample);
    canvas.chroma_stride = aligned((picture->width + 1) / 2 * 2 * sample);
    const size_t luma = canvas.stride * picture->height;
    const size_t chroma = canvas.chroma_stride * ((picture->height + 1) / 2);
    canvas.luma = work;
    canvas.chroma = canvas.luma + luma;
    canvas.alpha = picture->alpha ? canvas.chroma + chroma : NULL;
    canvas.tables = (int32_t *)(canvas.chroma + chroma + (picture->alpha ? luma : 0));
    *bytes = luma + chroma + (picture->alpha ? luma : 0) +
             aligned(sizeof(int32_t) * YCBCR_PRODUCTS << canvas.bits);
    return canvas;
}

size_t hevc_decode_bytes(const struct heic_still *still) {
    size_t bytes;
    place_canvas(still, NULL, &bytes);
    return video_engine_is_there() ? bytes : 0;
}

/* ---- tiles */

struct taking {
    const struct canvas *canvas;
    const struct isobmff_tiling *tiling;
    const struct heic_still_tile *tiles;
    bool alpha;
    cudaStream_t stream;
    cudaError_t error;
};

/* Queues the copy of a plane: of WIDTH bytes and HEIGHT rows, as far as the canvas goes. */
static bool copy_plane(struct taking *taking, uint8_t *to, size_t stride, uint64_t from,
                       size_t pitch, size_t width, size_t height) {
    if (taking->error == cudaSuccess)
        taking->error = cudaMemcpy2DAsync(to, stride, (const uint8_t *)(uintptr_t)from, pitch,
                                          width, height, cudaMemcpyDeviceToDevice, taking->stream);
    return taking->error == cudaSuccess;
}

static bool take_tile(void *context, uint32_t number, const struct video_frame *frame) {
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

static bool wait_for_copies(void *context) {
    struct taking *taking = (struct taking *)context;
    const cudaError_t error = cudaStreamSynchronize(taking->stream);
    if (taking->error == cudaSuccess) taking->error = error;
    return error == cudaSuccess;
}

/* Decodes the tiles of the colours, or of alpha, into CANVAS. *WHOLE: none is refused. */
static enum status decode_tiles(const struct cuda_context *context, const struct heic_still *still,
                                bool alpha, const struct canvas *canvas, bool *whole,
                                struct failure *failure) {
    const uint32_t count = heic_still_count(still, alpha);
    struct heic_still_tile *tiles = (struct heic_still_tile *)calloc(count, sizeof *tiles);
    struct video_picture *pictures = (struct video_picture *)calloc(count, sizeof *pictures);
    struct taking taking = { canvas,          &still->header.tiling[alpha],
                             tiles,           alpha,
                             context->stream, cudaSuccess };
    const struct video_taker taker = { context->stream, &taking, take_tile, wait_for_copies };
    int gpu = 0;
    *whole = tiles && pictures && heic_still_tiles(still, alpha, tiles);
    for (uint32_t i = 0; i < count && *whole; i++)
        pictures[i] = { &tiles[i].parameters, tiles[i].slice };
    taking.error = cudaGetDevice(&gpu);
    *whole = *whole && video_engine_decode(gpu, pictures, count, &taker);
    free(pictures);
    free(tiles);
    CUDA_TRY(failure, taking.error);
    return STATUS_OK;
}

/* ---- pixels */

struct pixels {
    struct canvas canvas;
    uint32_t left, top, across, down; /* the part that is shown */
    uint8_t *origin;                  /* as oriented_rows.h has it */
    ptrdiff_t step_x, step_y;
    bool swapped; /* rows of the result are columns */
    bool premultiplied;
};

template <bool WIDE>
static __device__ __forceinline__ uint32_t sample_at(const uint8_t *row, uint32_t x,
                                                     unsigned bits) {
    return WIDE ? ((const uint16_t *)row)[x] >> (16 - bits) : row[x];
}

struct chroma {
    uint32_t cb, cr;
};

/* Three times the nearer row and the other, of chroma's column I. */
template <bool WIDE>
static __device__ __forceinline__ struct chroma mix_rows(const uint8_t *near, const uint8_t *next,
                                                         uint32_t i, unsigned bits) {
    struct chroma mixed;
    mixed.cb = 3 * sample_at<WIDE>(near, 2 * i, bits) + sample_at<WIDE>(next, 2 * i, bits);
    mixed.cr = 3 * sample_at<WIDE>(near, 2 * i + 1, bits) + sample_at<WIDE>(next, 2 * i + 1, bits);
    return mixed;
}

/* The sample beside number NEAR of COUNT, on the side where X, of twice as many, lies. */
static __device__ __forceinline__ uint32_t beside(uint32_t x, uint32_t near, uint32_t count) {
    const uint32_t other = x & 1 ? near + 1 : near ? near - 1 : 0;
    return other < count ? other : count - 1;
}

template <bool WIDE>
static __device__ __forceinline__ struct chroma chroma_at(const struct canvas &canvas, uint32_t x,
                                                          uint32_t y) {
    const uint32_t i = x / 2, j = y / 2;
    const uint8_t *near = canvas.chroma + j * canvas.chroma_stride;
    const uint8_t *next =
        canvas.chroma + beside(y, j, (canvas.height + 1) / 2) * canvas.chroma_stride;
    const struct chroma here = mix_rows<WIDE>(near, next, i, canvas.bits);
    const struct chroma there =
        mix_rows<WIDE>(near, next, beside(x, i, (canvas.width + 1) / 2), canvas.bits);
    return { (3 * here.cb + there.cb + 8) >> 4, (3 * here.cr + there.cr + 8) >> 4 };
}

template <bool WIDE> static __device__ __forceinline__ uint32_t settle(int32_t sum) {
    return ycbcr_settle(sum, WIDE ? +YCBCR_FRACTION_16 : +YCBCR_FRACTION_8, WIDE ? 65535 : 255);
}

template <bool WIDE, bool ALPHA>
static __global__ void __launch_bounds__(SIDE *SIDE)
    pixels_kernel(const __grid_constant__ struct pixels pixels) {
    const struct canvas &canvas = pixels.canvas;
    const uint32_t u = blockIdx.x * SIDE + threadIdx.x, v = blockIdx.y * SIDE + threadIdx.y;
    const uint32_t column = pixels.swapped ? v : u, row = pixels.swapped ? u : v;
    if (column >= pixels.across || row >= pixels.down) return;
    const uint32_t x = pixels.left + column, y = pixels.top + row;
    const int32_t *tables = canvas.tables;
    const unsigned bits = canvas.bits;
    const struct chroma c = chroma_at<WIDE>(canvas, x, y);
    const int32_t luma =
        tables[(YCBCR_LUMA << bits) + sample_at<WIDE>(canvas.luma + y * canvas.stride, x, bits)];
    uint32_t pixel[4];
    pixel[0] = settle<WIDE>(luma + tables[(YCBCR_RED_CR << bits) + c.cr]);
    pixel[1] = settle<WIDE>(luma + tables[(YCBCR_GREEN_CB << bits) + c.cb] +
                            tables[(YCBCR_GREEN_CR << bits) + c.cr]);
    pixel[2] = settle<WIDE>(luma + tables[(YCBCR_BLUE_CB << bits) + c.cb]);
    if (ALPHA) {
        const uint32_t alpha = sample_at<WIDE>(canvas.alpha + y * canvas.stride, x, bits);
        pixel[3] = settle<WIDE>(tables[(YCBCR_OPACITY << bits) + alpha]);
        for (int i = 0; i < 3 && pixels.premultiplied; i++)
            pixel[i] = ycbcr_divide(pixel[i], pixel[3], WIDE ? 65535 : 255);
    }
    uint8_t *to = pixels.origin + column * pixels.step_x + row * pixels.step_y;
#pragma unroll
    for (int i = 0; i < 3 + ALPHA; i++) {
        if (WIDE)
            ((uint16_t *)to)[i] = (uint16_t)pixel[i];
        else
            to[i] = (uint8_t)pixel[i];
    }
}

static enum status make_pixels(const struct cuda_context *context, const struct heic_still *still,
                               const struct canvas *canvas, const struct image *into,
                               struct failure *failure) {
    const struct isobmff_picture *picture = &still->header.picture;
    struct oriented_rows rows;
    oriented_rows_plan(&rows, into, picture->orientation, picture->across, picture->down);
    const struct pixels pixels = {
        *canvas,     picture->left, picture->top, picture->across,           picture->down,
        rows.origin, rows.step_x,   rows.step_y,  picture->orientation >= 5, picture->premultiplied
    };
    const dim3 blocks((into->width + SIDE - 1) / SIDE, (into->height + SIDE - 1) / SIDE);
    const dim3 threads(SIDE, SIDE);
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
    const struct isobmff_nclx *nclx = &still->header.picture.nclx;
    struct ycbcr_planes planes = {};
    struct ycbcr ycbcr;
    planes.planes[0] = canvas->luma;
    planes.planes[1] = planes.planes[2] = canvas->chroma; /* only whether they are there matters */
    planes.width = canvas->width;
    planes.height = canvas->height;
    planes.bits = canvas->bits;
    planes.halved_x = planes.halved_y = true;
    planes.limited = !nclx->full;
    planes.matrix = nclx->matrix;
    *known = ycbcr_init(&ycbcr, &planes, NULL) == STATUS_OK;
    const cudaError_t error =
        *known ? cudaMemcpyAsync(canvas->tables, ycbcr.tables,
                                 sizeof(int32_t) * YCBCR_PRODUCTS << canvas->bits,
                                 cudaMemcpyHostToDevice, context->stream)
               : cudaSuccess; /* pageable memory: it is copied before the call returns */
    ycbcr_release(&ycbcr);
    CUDA_TRY(failure, error);
    return STATUS_OK;
}

enum status hevc_decode(const struct cuda_context *context, const struct heic_still *still,
                        uint8_t *work, const struct image *into, bool *refused,
                        struct failure *failure) {
    static const char *const stages[] = { "engine", "pixels" };
    cudaEvent_t events[3] = {};
    size_t bytes;
    const struct canvas canvas = place_canvas(still, work, &bytes);
    const bool timed = timeline_lend(context->timeline, SPAN_DECODE, stages, 2, events);
    bool good;
    if (timed) cudaEventRecord(events[0], context->stream);
    enum status status = copy_tables(context, still, &canvas, &good, failure);
    if (!status && good) status = decode_tiles(context, still, false, &canvas, &good, failure);
    if (!status && good && canvas.alpha)
        status = decode_tiles(context, still, true, &canvas, &good, failure);
    if (timed) cudaEventRecord(events[1], context->stream);
    if (!status && good) status = make_pixels(context, still, &canvas, into, failure);
    if (timed) cudaEventRecord(events[2], context->stream);
    *refused = !good;
    return status;
}
