// SPDX-License-Identifier: Apache-2.0
/* How it works. An engine works for one session at a time, so there is a session for each engine,
 * and a picture's tiles are dealt out to them. A session has several surfaces: all tiles are
 * submitted, then each is waited for and copied away, and the engines are busy meanwhile. Tiles
 * beyond all surfaces follow in a further round. */
#include "cuda/video_engine.h"

#if __has_include(<ffnvcodec/dynlink_cuviddec.h>)

#include "pipeline/shared_library.h"

#include <ffnvcodec/dynlink_cuda.h>

#include <ffnvcodec/dynlink_cuviddec.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GPUS_MAX = 16, ENGINES_MAX = 8, SURFACES_MAX = 8, SESSION_BYTES = 8 << 20 };
enum { ROUND_MAX = ENGINES_MAX * SURFACES_MAX, MACROBLOCK = 16 };
enum { STEP_NS = 50000000 /* of the wait for the engines */, SLICE_KEPT = 4 << 20 /* bytes */ };

/* So long a pool keeps its place after its last use, and a size counts as refused: pictures of
 * other sizes in turn cannot close and open sessions all the time. */
static const int64_t kept_ns = 1000000000;

static const uint8_t start_code[] = { 0, 0, 1 };

_Static_assert(sizeof((CUVIDHEVCPICPARAMS *)0)->column_width_minus1 >=
                       HEVC_TILES_MAX * sizeof(uint16_t) &&
                   sizeof((CUVIDHEVCPICPARAMS *)0)->row_height_minus1 >=
                       HEVC_TILES_MAX * sizeof(uint16_t),
               "the engine must have room for all tiles");

/* Sessions for one size. */
struct pool {
    int gpu;
    uint32_t width, height, bits;
    unsigned surfaces; /* of each session */
    int count, most;
    CUvideodecoder sessions[ENGINES_MAX];
    int64_t used_ns, failed_ns; /* times of clock_coarse_ns; failed: to open a session */
};

static struct engine {
    pthread_mutex_t lock; /* of all that follows */
    bool opened, works;   /* the library */
    tcuvidGetDecoderCaps *capabilities;
    tcuvidCreateDecoder *create;
    tcuvidDestroyDecoder *destroy;
    tcuvidDecodePicture *decode;
    tcuvidGetDecodeStatus *status;
    tcuvidMapVideoFrame64 *map;
    tcuvidUnmapVideoFrame64 *unmap;
    int engines[GPUS_MAX]; /* 0: not asked yet; -1: none */
    bool is_there;         /* atomic */
    struct pool pools[VIDEO_SIZES];
    int lanes;
    CUVIDPICPARAMS parameters; /* of the picture that is submitted: some KB */
    uint8_t *bytes;            /* its slice, behind a start code */
    size_t room;
} engine = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the library */

static bool open_library(void) {
    static const char *const names[] = { "libnvcuvid.so.1" };
    const struct shared_symbol symbols[] = {
        { "cuvidGetDecoderCaps", &engine.capabilities }, { "cuvidCreateDecoder", &engine.create },
        { "cuvidDestroyDecoder", &engine.destroy },      { "cuvidDecodePicture", &engine.decode },
        { "cuvidGetDecodeStatus", &engine.status },      { "cuvidMapVideoFrame64", &engine.map },
        { "cuvidUnmapVideoFrame64", &engine.unmap },
    };
    if (engine.opened) return engine.works;
    engine.opened = true;
    void *library = shared_library_open(names, 1);
    engine.works =
        library && shared_library_find(library, symbols, sizeof symbols / sizeof *symbols);
    return engine.works;
}

static int ask_count(void) {
    CUVIDDECODECAPS caps = { .eCodecType = cudaVideoCodec_HEVC,
                             .eChromaFormat = cudaVideoChromaFormat_420 };
    if (!open_library() || engine.capabilities(&caps) != CUDA_SUCCESS || !caps.bIsSupported)
        return -1;
    if (caps.nNumNVDECs < 1) return 1; /* an older driver does not say */
    return caps.nNumNVDECs < ENGINES_MAX ? caps.nNumNVDECs : ENGINES_MAX;
}

static int count_engines(int gpu) {
    if (gpu < 0 || gpu >= GPUS_MAX) return 0;
    if (!engine.engines[gpu]) engine.engines[gpu] = ask_count();
    if (engine.engines[gpu] < 0) return 0;
    __atomic_store_n(&engine.is_there, true, __ATOMIC_RELAXED);
    return engine.engines[gpu];
}

int video_engine_count(int gpu) {
    pthread_mutex_lock(&engine.lock);
    const int count = count_engines(gpu);
    pthread_mutex_unlock(&engine.lock);
    return count;
}

bool video_engine_is_there(void) {
    return __atomic_load_n(&engine.is_there, __ATOMIC_RELAXED);
}

/* ---- sessions */

static void pool_close(struct pool *pool) {
    for (int i = 0; i < pool->count; i++) engine.destroy(pool->sessions[i]);
    pool->count = 0;
}

/* Two surfaces at least are decoded to: NVIDIA's own programs ask for no fewer. */
static unsigned decode_surfaces(const struct pool *pool) {
    return pool->surfaces < 2 ? 2 : pool->surfaces;
}

static void pool_begin(struct pool *pool, int gpu, const struct hevc_parameters *p, int64_t now) {
    const uint64_t bytes = (uint64_t)p->width * p->height * (p->bits > 8 ? 3 : 2);
    const uint64_t surfaces = SESSION_BYTES / bytes;
    pool_close(pool);
    *pool = (struct pool){
        .gpu = gpu, .width = p->width, .height = p->height, .bits = p->bits, .used_ns = now
    };
    pool->surfaces = surfaces < 1 ? 1 : surfaces < SURFACES_MAX ? (unsigned)surfaces : SURFACES_MAX;
    const uint64_t each = bytes * (pool->surfaces + decode_surfaces(pool));
    const uint64_t most = VIDEO_POOL_BYTES / each;
    pool->most = most < 1 ? 1 : most < ENGINES_MAX ? (int)most : ENGINES_MAX;
}

/* The pool of that size, with sessions or without; NULL: none has a place to give. */
static struct pool *find_pool(int gpu, const struct hevc_parameters *p, int64_t now) {
    struct pool *oldest = engine.pools;
    for (int i = 0; i < VIDEO_SIZES; i++) {
        struct pool *pool = &engine.pools[i];
        if (pool->gpu == gpu && pool->width == p->width && pool->height == p->height &&
            pool->bits == p->bits)
            return pool;
        if (pool->used_ns < oldest->used_ns) oldest = pool;
    }
    if (now - oldest->used_ns < kept_ns) return NULL;
    pool_begin(oldest, gpu, p, now);
    return oldest;
}

static bool open_session(struct pool *pool) {
    CUVIDDECODECREATEINFO info;
    memset(&info, 0, sizeof info);
    info.CodecType = cudaVideoCodec_HEVC;
    info.ChromaFormat = cudaVideoChromaFormat_420;
    info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
    info.bitDepthMinus8 = pool->bits - 8;
    info.ulIntraDecodeOnly = 1;
    info.ulWidth = info.ulMaxWidth = info.ulTargetWidth = pool->width;
    info.ulHeight = info.ulMaxHeight = info.ulTargetHeight = pool->height;
    info.display_area.right = (short)pool->width;
    info.display_area.bottom = (short)pool->height;
    info.ulNumDecodeSurfaces = decode_surfaces(pool);
    info.ulNumOutputSurfaces = pool->surfaces;
    info.OutputFormat = pool->bits > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
    info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
    if (engine.create(&pool->sessions[pool->count], &info) != CUDA_SUCCESS) return false;
    pool->count++;
    return true;
}

/* Opens one more session at most, if COUNT pictures can use one: others wait meanwhile. */
static struct pool *open_pool(int gpu, const struct hevc_parameters *p, uint32_t count) {
    const int64_t now = clock_coarse_ns();
    const int engines = count_engines(gpu);
    struct pool *pool = engines ? find_pool(gpu, p, now) : NULL;
    if (!pool) return NULL;
    const int most = pool->most < engines ? pool->most : engines;
    const int wanted = count < (uint32_t)most ? (int)count : most;
    const bool opens = pool->count < wanted && now - pool->failed_ns >= kept_ns;
    if (opens && !open_session(pool)) pool->failed_ns = now;
    if (opens || pool->count) pool->used_ns = now;
    return pool->count ? pool : NULL;
}

static void release_slice(void) {
    free(engine.bytes);
    engine.bytes = NULL;
    engine.room = 0;
}

void video_engine_open(int gpu) {
    pthread_mutex_lock(&engine.lock);
    count_engines(gpu);
    engine.lanes++;
    pthread_mutex_unlock(&engine.lock);
}

void video_engine_close(void) {
    pthread_mutex_lock(&engine.lock);
    if (--engine.lanes == 0) {
        for (int i = 0; i < VIDEO_SIZES; i++) pool_close(&engine.pools[i]);
        release_slice();
    }
    pthread_mutex_unlock(&engine.lock);
}

/* ---- a picture */

static void describe_sequence(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    to->pic_width_in_luma_samples = (int)p->width;
    to->pic_height_in_luma_samples = (int)p->height;
    to->log2_min_luma_coding_block_size_minus3 = p->log2_min_block - 3;
    to->log2_diff_max_min_luma_coding_block_size = p->log2_diff_block;
    to->log2_min_transform_block_size_minus2 = p->log2_min_transform - 2;
    to->log2_diff_max_min_transform_block_size = p->log2_diff_transform;
    to->max_transform_hierarchy_depth_inter = p->depth_inter;
    to->max_transform_hierarchy_depth_intra = p->depth_intra;
    to->pcm_enabled_flag = p->pcm;
    if (p->pcm) {
        to->log2_min_pcm_luma_coding_block_size_minus3 = p->log2_min_pcm - 3;
        to->log2_diff_max_min_pcm_luma_coding_block_size = p->log2_diff_pcm;
        to->pcm_sample_bit_depth_luma_minus1 = p->pcm_bits_luma - 1;
        to->pcm_sample_bit_depth_chroma_minus1 = p->pcm_bits_chroma - 1;
    }
    to->pcm_loop_filter_disabled_flag = p->pcm_filter_off;
    to->strong_intra_smoothing_enabled_flag = p->strong_intra_smoothing;
    to->amp_enabled_flag = p->amp;
    to->log2_max_pic_order_cnt_lsb_minus4 = p->log2_poc_lsb - 4;
    to->num_short_term_ref_pic_sets = p->short_term_sets;
    to->long_term_ref_pics_present_flag = p->long_term;
    to->num_long_term_ref_pics_sps = p->long_term_pictures;
    to->sps_temporal_mvp_enabled_flag = p->temporal_mvp;
    to->sample_adaptive_offset_enabled_flag = p->sao;
    to->bit_depth_luma_minus8 = to->bit_depth_chroma_minus8 = p->bits - 8;
}

static void describe_parts(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    to->tiles_enabled_flag = p->tiles;
    to->uniform_spacing_flag = p->uniform;
    to->num_tile_columns_minus1 = p->columns - 1;
    to->num_tile_rows_minus1 = p->rows - 1;
    for (int i = 0; i < p->columns && p->tiles; i++) to->column_width_minus1[i] = p->widths[i] - 1;
    for (int i = 0; i < p->rows && p->tiles; i++) to->row_height_minus1[i] = p->heights[i] - 1;
    to->loop_filter_across_tiles_enabled_flag = p->filter_across_tiles;
    to->loop_filter_across_slices_enabled_flag = p->filter_across_slices;
}

static void describe_picture(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    to->IrapPicFlag = to->IdrPicFlag = 1;
    to->dependent_slice_segments_enabled_flag = p->dependent_slices;
    to->slice_segment_header_extension_present_flag = p->slice_extension;
    to->sign_data_hiding_enabled_flag = p->sign_hiding;
    to->cu_qp_delta_enabled_flag = p->qp_delta;
    to->diff_cu_qp_delta_depth = p->qp_delta_depth;
    to->init_qp_minus26 = p->init_qp - 26;
    to->pps_cb_qp_offset = p->cb_offset;
    to->pps_cr_qp_offset = p->cr_offset;
    to->constrained_intra_pred_flag = p->constrained_intra;
    to->weighted_pred_flag = p->weighted;
    to->weighted_bipred_flag = p->weighted_bi;
    to->transform_skip_enabled_flag = p->transform_skip;
    to->transquant_bypass_enabled_flag = p->bypass;
    to->entropy_coding_sync_enabled_flag = p->entropy_sync;
    to->log2_parallel_merge_level_minus2 = p->log2_parallel_merge - 2;
    to->num_extra_slice_header_bits = p->extra_slice_bits;
    to->output_flag_present_flag = p->output_flag;
    to->num_ref_idx_l0_default_active_minus1 = p->references[0] - 1;
    to->num_ref_idx_l1_default_active_minus1 = p->references[1] - 1;
    to->lists_modification_present_flag = p->lists_modification;
    to->cabac_init_present_flag = p->cabac_init;
    to->pps_slice_chroma_qp_offsets_present_flag = p->slice_chroma_offsets;
    to->deblocking_filter_override_enabled_flag = p->deblocking_override;
    to->pps_deblocking_filter_disabled_flag = p->deblocking_off;
    to->pps_beta_offset_div2 = p->half_beta_offset;
    to->pps_tc_offset_div2 = p->half_tc_offset;
    for (size_t i = 0; i < sizeof to->RefPicIdx / sizeof *to->RefPicIdx; i++) to->RefPicIdx[i] = -1;
}

static bool copy_slice(const struct hevc_unit *slice) {
    const size_t length = sizeof start_code + slice->length;
    if (length > UINT32_MAX) return false;
    if (length > engine.room) {
        release_slice();
        engine.bytes = malloc(length);
        engine.room = engine.bytes ? length : 0;
        if (!engine.bytes) return false;
    }
    memcpy(engine.bytes, start_code, sizeof start_code);
    memcpy(engine.bytes + sizeof start_code, slice->bytes, slice->length);
    return true;
}

/* The driver copies the slice before it returns. */
static bool submit(CUvideodecoder session, int surface, const struct video_picture *picture) {
    const struct hevc_parameters *p = picture->parameters;
    const unsigned offset = 0;
    CUVIDPICPARAMS *to = &engine.parameters;
    if (!copy_slice(&picture->slice)) return false;
    memset(to, 0, sizeof *to);
    to->PicWidthInMbs = (int)(p->width + MACROBLOCK - 1) / MACROBLOCK;
    to->FrameHeightInMbs = (int)(p->height + MACROBLOCK - 1) / MACROBLOCK;
    to->CurrPicIdx = surface;
    to->pBitstreamData = engine.bytes;
    to->nBitstreamDataLen = (unsigned)(sizeof start_code + picture->slice.length);
    to->nNumSlices = 1;
    to->pSliceDataOffsets = &offset;
    to->ref_pic_flag = to->intra_pic_flag = 1;
    describe_sequence(p, &to->CodecSpecific.hevc);
    describe_parts(p, &to->CodecSpecific.hevc);
    describe_picture(p, &to->CodecSpecific.hevc);
    return engine.decode(session, to) == CUDA_SUCCESS;
}

/* ---- a round: at most as many pictures as there are surfaces */

struct round {
    struct pool *pool;
    uint32_t count, mapped;
    unsigned long long frames[ROUND_MAX];
};

static CUvideodecoder session_of(const struct round *round, uint32_t i) {
    return round->pool->sessions[i % (uint32_t)round->pool->count];
}

static int surface_of(const struct round *round, uint32_t i) {
    return (int)(i / (uint32_t)round->pool->count);
}

/* FIRST: the number of the round's first picture. */
static bool take_frames(struct round *round, uint32_t first, const struct video_taker *taker) {
    for (; round->mapped < round->count; round->mapped++) {
        const uint32_t i = round->mapped;
        unsigned pitch = 0;
        CUVIDPROCPARAMS how = { .progressive_frame = 1, .output_stream = taker->stream };
        if (engine.map(session_of(round, i), surface_of(round, i), &round->frames[i], &pitch,
                       &how) != CUDA_SUCCESS)
            return false;
        const uint64_t luma = round->frames[i];
        const struct video_frame frame = { luma, luma + (uint64_t)pitch * round->pool->height,
                                           pitch };
        if (!taker->take(taker->context, first + i, &frame)) return round->mapped++, false;
    }
    return true;
}

/* True if each picture is whole. */
static bool give_back(const struct round *round) {
    bool whole = true;
    for (uint32_t i = 0; i < round->mapped; i++) {
        CUVIDGETDECODESTATUS status = { .decodeStatus = cuvidDecodeStatus_Invalid };
        whole &=
            engine.status(session_of(round, i), surface_of(round, i), &status) == CUDA_SUCCESS &&
            status.decodeStatus == cuvidDecodeStatus_Success;
        engine.unmap(session_of(round, i), round->frames[i]);
    }
    return whole;
}

/* *BROKEN: the sessions are not as before. */
static bool decode_round(struct round *round, const struct video_picture *pictures, uint32_t first,
                         const struct video_taker *taker, bool *broken) {
    bool good = true;
    for (uint32_t i = 0; i < round->count && good; i++)
        good = submit(session_of(round, i), surface_of(round, i), &pictures[first + i]);
    good = good && take_frames(round, first, taker);
    const bool done = taker->wait(taker->context);
    const bool whole = give_back(round);
    *broken = !good || !done;
    return good && done && whole;
}

static bool decode_all(struct pool *pool, const struct video_picture *pictures, uint32_t count,
                       const struct video_taker *taker) {
    const uint32_t most = (uint32_t)pool->count * pool->surfaces;
    bool good = true, broken = false;
    for (uint32_t first = 0; first < count && good; first += most) {
        if (progress_state(taker->progress)) return false;
        const uint32_t left = count - first;
        struct round round = { .pool = pool, .count = left < most ? left : most };
        good = decode_round(&round, pictures, first, taker, &broken);
    }
    if (broken) pool_close(pool);
    return good;
}

static bool are_alike(const struct video_picture *pictures, uint32_t count) {
    const struct hevc_parameters *first = pictures->parameters;
    bool alike = count > 0;
    for (uint32_t i = 1; i < count && alike; i++) {
        const struct hevc_parameters *p = pictures[i].parameters;
        alike = p->width == first->width && p->height == first->height && p->bits == first->bits;
    }
    return alike;
}

/* Waits for the engines; false: the picture is not wanted any more. */
static bool take_engines(const struct progress *progress) {
    while (!progress_state(progress)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += STEP_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!pthread_mutex_timedlock(&engine.lock, &until)) return true;
    }
    return false;
}

bool video_engine_decode(int gpu, const struct video_picture *pictures, uint32_t count,
                         const struct video_taker *taker) {
    if (!are_alike(pictures, count) || !take_engines(taker->progress)) return false;
    taker->begin(taker->context);
    struct pool *pool = open_pool(gpu, pictures->parameters, count);
    const bool good = pool && decode_all(pool, pictures, count, taker);
    if (engine.room > SLICE_KEPT) release_slice();
    pthread_mutex_unlock(&engine.lock);
    return good;
}

#else

int video_engine_count(int gpu) {
    (void)gpu;
    return 0;
}

bool video_engine_is_there(void) {
    return false;
}

void video_engine_open(int gpu) {
    (void)gpu;
}

void video_engine_close(void) {}

bool video_engine_decode(int gpu, const struct video_picture *pictures, uint32_t count,
                         const struct video_taker *taker) {
    (void)gpu, (void)pictures, (void)count, (void)taker;
    return false;
}

#endif
