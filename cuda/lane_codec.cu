// SPDX-License-Identifier: Apache-2.0
/* How it works. `work` first serves the decoder: room for each scan's bytes, then its arena. One
 * kernel brings all short scans that lie in pinned memory (gather_kernel), where a copy each would
 * take longer; long ones would stall that kernel, and the multiprocessors with it, on the bus: 12
 * megapixels to 320 pixels 6,900 a second in place of 8,800. These and others are copied one by
 * one. Later `work` serves the encoder: room for the files, then all the rest as scratch. A kernel
 * writes the files into pinned memory as far as they fit there, and the host need not know their
 * lengths. Files elsewhere, and longer ones, are copied at the end. So a batch in pinned memory
 * costs the same launches and copies however many files it has. The room for a file is a guess that
 * holds for all but noise: a larger file is refused, and the CPU's codec encodes it. */
#include "cuda/lane_codec.cuh"

#include "cuda/check.cuh"
#include "cuda/codecs/jpeg_encode.h"
#include "cuda/cuda_op.h"
#include "cuda/pinned_ranges.cuh"
#include "cuda/timeline.cuh"

#include <cassert>
#include <cstdlib>
#include <cstring>

/* ---- two kernels that move a batch's files between mapped host memory and device memory
 *
 * A load moves 16 bytes. On the way in, a file keeps its address modulo 16, so that whole words are
 * read: bytes before and after it are read too, within the page. On the way out, only the device
 * knows how long a file is: every file gets as many blocks as the largest may need, and each block
 * takes several parts. */

enum {
    TRANSFER_THREADS = 256,
    TRANSFER_LOADS = 4, /* loads of a thread, under way together */
    TRANSFER_VECTOR = 16,
    TRANSFER_BLOCK_BYTES = TRANSFER_THREADS * TRANSFER_LOADS * TRANSFER_VECTOR,
};

/* Enough loads under way to fill the bus; more blocks would keep other lanes' kernels from the
 * multiprocessors while they wait for it. */
static const unsigned GATHER_BLOCKS = 64;

/* ---- in */

struct gathered_file {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, first_block;
};

struct gathering {
    int count;
    uint32_t blocks;
    struct gathered_file files[CUDA_BATCH_MAX];
};

/* Adds FROM. TO is a multiple of 16; FROM's address modulo 16 is kept, so TO needs LENGTH + 32
 * bytes. Returns where FROM's first byte will be. */
static inline uint8_t *gathering_add(struct gathering *gathering, const uint8_t *from,
                                     size_t length, uint8_t *to) {
    const size_t before = (uintptr_t)from % TRANSFER_VECTOR;
    struct gathered_file *file = &gathering->files[gathering->count++];
    file->from = (const uint4 *)(from - before);
    file->to = (uint4 *)to;
    file->vectors = (uint32_t)((before + length + TRANSFER_VECTOR - 1) / TRANSFER_VECTOR);
    file->first_block = gathering->blocks;
    gathering->blocks +=
        (file->vectors * TRANSFER_VECTOR + TRANSFER_BLOCK_BYTES - 1) / TRANSFER_BLOCK_BYTES;
    return to + before;
}

static __global__ void __launch_bounds__(TRANSFER_THREADS)
    gather_kernel(const __grid_constant__ struct gathering gathering) {
    int index = 0;
    for (uint32_t block = blockIdx.x; block < gathering.blocks; block += gridDim.x) {
        while (index + 1 < gathering.count && gathering.files[index + 1].first_block <= block)
            index++;
        const struct gathered_file &file = gathering.files[index];
        const uint32_t first =
            (block - file.first_block) * TRANSFER_THREADS * TRANSFER_LOADS + threadIdx.x;
        uint4 words[TRANSFER_LOADS];
#pragma unroll
        for (int i = 0; i < TRANSFER_LOADS; i++)
            if (first + i * TRANSFER_THREADS < file.vectors)
                words[i] = file.from[first + i * TRANSFER_THREADS];
#pragma unroll
        for (int i = 0; i < TRANSFER_LOADS; i++)
            if (first + i * TRANSFER_THREADS < file.vectors)
                file.to[first + i * TRANSFER_THREADS] = words[i];
    }
}

static inline enum status gathering_launch(const struct gathering *gathering, cudaStream_t stream,
                                           struct failure *failure) {
    const unsigned blocks = gathering->blocks < GATHER_BLOCKS ? gathering->blocks : GATHER_BLOCKS;
    if (!blocks) return STATUS_OK;
    gather_kernel<<<blocks, TRANSFER_THREADS, 0, stream>>>(*gathering);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* ---- out */

struct scattering {
    int count;
    uint32_t blocks_each;
    const uint8_t *out; /* the encoder's files */
    const struct jpeg_encode_result *results;
    struct scattered_file {
        uint8_t *to;   /* a multiple of 16; NULL: it is not moved */
        uint32_t room; /* a longer file is not moved */
    } files[CUDA_BATCH_MAX];
};

static __global__ void __launch_bounds__(TRANSFER_THREADS)
    scatter_kernel(const __grid_constant__ struct scattering scattering) {
    const uint32_t index = blockIdx.x / scattering.blocks_each;
    const struct scattering::scattered_file &file = scattering.files[index];
    const struct jpeg_encode_result result = scattering.results[index];
    if (!file.to || result.verdict != JPEG_ENCODE_WRITTEN || result.bytes > file.room) return;
    const uint4 *from = (const uint4 *)(scattering.out + result.offset);
    const uint32_t vectors = result.bytes / TRANSFER_VECTOR, rest = result.bytes % TRANSFER_VECTOR;
    const uint32_t thread = blockIdx.x % scattering.blocks_each * TRANSFER_THREADS + threadIdx.x;
    const uint32_t threads = scattering.blocks_each * TRANSFER_THREADS;
    for (uint32_t i = thread; i < vectors; i += threads) ((uint4 *)file.to)[i] = from[i];
    if (thread < rest)
        file.to[vectors * TRANSFER_VECTOR + thread] =
            ((const uint8_t *)from)[vectors * TRANSFER_VECTOR + thread];
}

static inline enum status scattering_launch(const struct scattering *scattering,
                                            cudaStream_t stream, struct failure *failure) {
    if (!scattering->count) return STATUS_OK;
    scatter_kernel<<<scattering->count * scattering->blocks_each, TRANSFER_THREADS, 0, stream>>>(
        *scattering);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

enum {
    ALIGN = 256,
    GATHER_MAX = 256 << 10, /* bytes of a scan that a kernel brings */
    SCAN_BEFORE = 8,        /* bytes before a scan that its decoder may read */
    SCAN_AROUND = 64,       /* more room for a scan: its address modulo 16, and whole words */
    FULL_CHROMA_QUALITY = 95,
    HEADER_ROOM = 1024,
};

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- memory that is made once */

/* Returns the most bytes that a batch's descriptions take. */
static size_t encode_pinned_max(void) {
    struct jpeg_encode_image images[CUDA_BATCH_MAX] = {};
    for (int i = 0; i < CUDA_BATCH_MAX; i++) {
        images[i].image = image_shape(16, 16, 3, 8);
        images[i].quality = 100;
        images[i].carried.profile_length = LANE_CODEC_CARRIED_MAX;
    }
    return jpeg_encode_needs(images, CUDA_BATCH_MAX).pinned_bytes;
}

enum status lane_codec_init(struct lane_codec *codec, struct failure *failure) {
    const size_t pictures = aligned(CUDA_BATCH_MAX * sizeof(struct jpeg_picture));
    const size_t units = aligned(jpeg_decode_units(CUDA_BATCH_MAX) * sizeof(uint32_t));
    const size_t facts = aligned(CUDA_BATCH_MAX * sizeof(struct jpeg_facts));
    codec->encode_pinned_bytes = encode_pinned_max();
    codec->pinned_bytes = pictures + units + facts + codec->encode_pinned_bytes;
    CUDA_TRY(failure, cudaHostAlloc((void **)&codec->pinned, codec->pinned_bytes, 0));
    memset(codec->pinned, 0, codec->pinned_bytes);
    codec->pictures = (struct jpeg_picture *)codec->pinned;
    codec->units = (uint32_t *)(codec->pinned + pictures);
    codec->facts = (struct jpeg_facts *)(codec->pinned + pictures + units);
    codec->encode_pinned = codec->pinned + pictures + units + facts;
    return jpeg_encoder_create(&codec->encoder, failure);
}

void lane_codec_release(struct lane_codec *codec) {
    jpeg_encoder_destroy(codec->encoder);
    cudaFreeHost(codec->pinned);
}

void lane_codec_clear(struct lane_codec *codec) {
    codec->decoding_count = codec->encoding_count = 0;
}

enum status lane_codec_empty(struct lane_codec *codec, cudaStream_t stream,
                             struct failure *failure) {
    memset(codec->pinned, 0, codec->pinned_bytes);
    return jpeg_encoder_restore(codec->encoder, stream, failure);
}

/* ---- copies of what is not pinned */

/* Copies in pieces, since the driver refuses a copy that is pinned in part. */
static enum status copy_pieces(uint8_t *host, uint8_t *device, size_t length, bool to_host,
                               cudaStream_t stream, struct failure *failure) {
    for (size_t piece; length; host += piece, device += piece, length -= piece) {
        piece = pinned_ranges_piece(host, length);
        if (to_host)
            CUDA_TRY(failure, cudaMemcpyAsync(host, device, piece, cudaMemcpyDeviceToHost, stream));
        else
            CUDA_TRY(failure, cudaMemcpyAsync(device, host, piece, cudaMemcpyHostToDevice, stream));
    }
    return STATUS_OK;
}

/* ---- decode */

static size_t scan_room(const struct jpeg_baseline *jpeg) {
    return aligned((size_t)(jpeg->bytes + jpeg->length - jpeg->scan) + SCAN_AROUND);
}

size_t lane_codec_decode_bytes(const struct jpeg_baseline *jpeg) {
    struct jpeg_picture picture;
    if (!jpeg_picture_init(&picture, jpeg)) return 0;
    return scan_room(jpeg) + jpeg_decode_bytes(&picture, 1);
}

/* Brings the bytes of JPEG's scan to TO, now or with GATHERING. SCAN: its device address. */
static enum status bring_scan(const struct jpeg_baseline *jpeg, uint8_t *to,
                              struct gathering *gathering, cudaStream_t stream,
                              const uint8_t **scan, struct failure *failure) {
    const uint8_t *from = jpeg->scan - SCAN_BEFORE;
    const size_t length = (size_t)(jpeg->bytes + jpeg->length - from);
    size_t within;
    const uint8_t *mapped = pinned_ranges_find(from, length, &within);
    if (mapped && within == length && length <= GATHER_MAX) {
        *scan = gathering_add(gathering, mapped, length, to) + SCAN_BEFORE;
        return STATUS_OK;
    }
    *scan = to + SCAN_BEFORE;
    return copy_pieces((uint8_t *)from, to, length, false, stream, failure);
}

static enum status bring_scans(struct lane_codec *codec, cudaStream_t stream, uint8_t *work,
                               struct failure *failure) {
    struct gathering gathering;
    gathering.count = 0;
    gathering.blocks = 0;
    for (int i = 0; i < codec->decoding_count; i++) {
        const struct lane_decoding *decoding = &codec->decodings[i];
        struct jpeg_picture *picture = &codec->pictures[i];
        if (!jpeg_picture_init(picture, decoding->jpeg))
            return fail(failure, STATUS_INTERNAL, "a JPEG that the GPU does not decode");
        picture->into = decoding->into;
        const enum status status =
            bring_scan(decoding->jpeg, work, &gathering, stream, &picture->scan, failure);
        if (status) return status;
        work += scan_room(decoding->jpeg);
    }
    return gathering_launch(&gathering, stream, failure);
}

enum status lane_codec_decode(struct lane_codec *codec, const struct cuda_context *context,
                              uint8_t *work, size_t work_bytes, struct lane_decoding *decodings,
                              int count, struct failure *failure) {
    cudaEvent_t events[JPEG_DECODE_STAGES + 1];
    struct jpeg_decode_batch batch = {};
    size_t scans = 0;
    assert(count <= CUDA_BATCH_MAX);
    if (decodings->heic)
        return hevc_decode(context, decodings, work, failure);
    codec->decodings = decodings;
    codec->decoding_count = count;
    const enum status status = bring_scans(codec, context->stream, work, failure);
    if (status) return status;
    for (int i = 0; i < count; i++) scans += scan_room(decodings[i].jpeg);
    batch.pictures = codec->pictures;
    batch.count = count;
    batch.units = codec->units;
    batch.facts = codec->facts;
    batch.arena = work + scans; /* enough: all files' decode_bytes less their scans */
    assert(scans < work_bytes);
    if (timeline_lend(context->timeline, SPAN_DECODE, jpeg_decode_stages, JPEG_DECODE_STAGES,
                      events))
        batch.events = events;
    return jpeg_decode_queue(context, &batch, failure);
}

/* ---- encode */

/* Returns the bytes reserved for a file. */
static size_t file_room(const struct lane_encoding *encoding) {
    const struct image *image = &encoding->image;
    const size_t across = (image->width + 15) / 16 * 16, down = (image->height + 15) / 16 * 16;
    const bool full = encoding->quality >= FULL_CHROMA_QUALITY;
    const size_t samples = across * down * (full ? image->channels : 1);
    return aligned(samples + samples / 4 + HEADER_ROOM + carried_bytes(&encoding->carried));
}

/* Returns scratch for strings of bits: as much as for the file, and each tile's rounding. */
static size_t string_room(const struct lane_encoding *encoding,
                          const struct jpeg_encode_needs *needs) {
    const size_t room = file_room(encoding) + file_room(encoding) / 8;
    return aligned(room < needs->string_bytes_max ? room : needs->string_bytes_max);
}

static struct jpeg_encode_image describe(const struct lane_encoding *encoding) {
    const size_t room = file_room(encoding);
    struct jpeg_encode_image image = {};
    image.image = encoding->image;
    image.quality = (unsigned)encoding->quality;
    image.carried = encoding->carried;
    image.room = room < encoding->capacity ? room : encoding->capacity;
    return image;
}

size_t lane_codec_encode_bytes(const struct lane_encoding *encoding) {
    if (!jpeg_encode_takes(&encoding->image) || encoding->quality < 1 || encoding->quality > 100 ||
        carried_bytes(&encoding->carried) > LANE_CODEC_CARRIED_MAX)
        return 0;
    const struct jpeg_encode_image image = describe(encoding);
    const struct jpeg_encode_needs needs = jpeg_encode_needs(&image, 1);
    return file_room(encoding) + needs.fixed_bytes + string_room(encoding, &needs);
}

/* Returns where a kernel may write each file, and how much. */
static struct scattering place_files(struct lane_codec *codec) {
    struct scattering scattering;
    size_t largest = 0;
    scattering.count = codec->encoding_count;
    scattering.out = codec->encode_batch.out;
    scattering.results = jpeg_encode_device_results(&codec->encode_batch);
    for (int i = 0; i < codec->encoding_count; i++) {
        const struct lane_encoding *encoding = &codec->encodings[i];
        size_t within;
        uint8_t *to = pinned_ranges_find(encoding->bytes, encoding->capacity, &within);
        if ((uintptr_t)to % TRANSFER_VECTOR) to = NULL;
        if (!to) within = 0;
        codec->written_rooms[i] = within < UINT32_MAX ? (uint32_t)within : UINT32_MAX;
        scattering.files[i].to = to;
        scattering.files[i].room = codec->written_rooms[i];
        if (image_pixels(&encoding->image) > largest) largest = image_pixels(&encoding->image);
    }
    /* With 1 to 2 bits a pixel a block moves some four parts. */
    const size_t blocks = largest / (8 * TRANSFER_BLOCK_BYTES) + 1;
    scattering.blocks_each = (uint32_t)(blocks < 32 ? blocks : 32);
    return scattering;
}

static void lay_out(struct lane_codec *codec, cudaStream_t stream, uint8_t *work,
                    size_t work_bytes) {
    struct jpeg_encode_batch *batch = &codec->encode_batch;
    size_t rooms = 0;
    for (int i = 0; i < codec->encoding_count; i++) {
        codec->images[i] = describe(&codec->encodings[i]);
        rooms += file_room(&codec->encodings[i]);
    }
    batch->images = codec->images;
    batch->count = codec->encoding_count;
    batch->out = work;
    batch->out_bytes = rooms;
    batch->scratch = work + rooms;
    batch->scratch_bytes = work_bytes - rooms;
    batch->pinned = codec->encode_pinned;
    batch->pinned_bytes = codec->encode_pinned_bytes;
    batch->stream = stream;
}

enum status lane_codec_encode(struct lane_codec *codec, const struct cuda_context *context,
                              uint8_t *work, size_t work_bytes, struct lane_encoding *encodings,
                              int count, struct failure *failure) {
    assert(count <= CUDA_BATCH_MAX);
    codec->encodings = encodings;
    codec->encoding_count = count;
    lay_out(codec, context->stream, work, work_bytes);
    /* Results that the kernels do not write read as refusals. */
    memset(codec->encode_pinned, 0xff, count * sizeof(struct jpeg_encode_result));
    const enum status status = jpeg_encode_launch(codec->encoder, &codec->encode_batch, failure);
    if (status) return status;
    timeline_end_kernel(context->timeline, context->stream, SPAN_ENCODE, "tiles, places, files");
    const struct scattering scattering = place_files(codec);
    return scattering_launch(&scattering, context->stream, failure);
}

/* ---- the end */

enum status lane_codec_finish(struct lane_codec *codec, cudaStream_t stream, double *copy_ms,
                              struct failure *failure) {
    const int64_t start = clock_ns();
    bool copied = false;
    for (int i = 0; i < codec->decoding_count; i++)
        codec->decodings[i].refused = codec->facts[i].flags != 0;
    for (int i = 0; i < codec->encoding_count; i++) {
        const struct jpeg_encode_result *result = jpeg_encode_results(&codec->encode_batch) + i;
        struct lane_encoding *encoding = &codec->encodings[i];
        const bool written =
            result->verdict == JPEG_ENCODE_WRITTEN && result->bytes <= encoding->capacity;
        encoding->length = written ? result->bytes : 0;
        if (encoding->length <= codec->written_rooms[i]) continue;
        copied = true;
        const enum status status =
            copy_pieces(encoding->bytes, codec->encode_batch.out + result->offset, encoding->length,
                        true, stream, failure);
        if (status) {
            cudaStreamSynchronize(stream); /* before other jobs get the files' slots */
            return status;
        }
    }
    if (copied) CUDA_TRY(failure, cudaStreamSynchronize(stream));
    *copy_ms = copied ? ns_to_ms(clock_ns() - start) : 0;
    lane_codec_clear(codec);
    return STATUS_OK;
}
