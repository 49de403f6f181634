// SPDX-License-Identifier: Apache-2.0
/* How it works. An engine works for one session at a time, so there is a session for each engine,
 * and a picture's tiles are dealt out to them. A session has several surfaces: all tiles are
 * submitted, then each is waited for and copied away, and the engines are busy meanwhile. Tiles
 * beyond all surfaces follow in a further round. While one picture is copied away and the next is
 * submitted, engines would idle: so two pictures are under way, each with a set of sessions. */
#include "cuda/video_engine.h"

#if __has_include(<ffnvcodec/dynlink_cuviddec.h>)

#include "cuda/video_parameters.h"
#include "pipeline/shared_library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GPUS_MAX = 16, ENGINES_MAX = 8, SURFACES_MAX = 8, SESSION_BYTES = 8 << 20 };
enum { ROUND_MAX = ENGINES_MAX * SURFACES_MAX, MACROBLOCK = 16, SETS = 2 };
enum { STEP_NS = 50000000 /* of the wait for the engines */ };

/* So long a pool keeps its place after its last use, and a size counts as refused: pictures of
 * other sizes in turn cannot close and open sessions all the time. */
static const int64_t kept_ns = 1000000000;

static const uint8_t start_code[] = { 0, 0, 1 };

/* The sessions of one picture at a time, whose thread uses them without the lock. */
struct set {
    bool busy;
    int count;
    CUvideodecoder sessions[ENGINES_MAX];
};

/* Sessions for one size. */
struct pool {
    int gpu;
    uint32_t width, height, bits;
    unsigned surfaces; /* of each session */
    int most;          /* sessions of all sets */
    struct set sets[SETS];
    int64_t used_ns, failed_ns; /* times of clock_coarse_ns; failed: to open a session */
};

/* A picture that waits, in its thread's memory. */
struct waiter {
    pthread_cond_t turn; /* it is the oldest, or a set is free */
    struct waiter *next;
};

static struct engine {
    pthread_mutex_t lock;   /* of all that follows */
    struct waiter *waiting; /* pictures that wait for a set, the oldest first */
    bool opened, works;     /* the library */
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
    int busy; /* sets of all pools */
    int lanes;
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

static void set_close(struct set *set) {
    for (int i = 0; i < set->count; i++) engine.destroy(set->sessions[i]);
    set->count = 0;
}

static void pool_close(struct pool *pool) {
    for (int i = 0; i < SETS; i++) set_close(&pool->sets[i]);
}

static bool pool_is_busy(const struct pool *pool) {
    bool busy = false;
    for (int i = 0; i < SETS; i++) busy |= pool->sets[i].busy;
    return busy;
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
    pool->most = most < 1 ? 1 : most < SETS * ENGINES_MAX ? (int)most : SETS * ENGINES_MAX;
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
    if (now - oldest->used_ns < kept_ns || pool_is_busy(oldest)) return NULL;
    pool_begin(oldest, gpu, p, now);
    return oldest;
}

static bool open_session(const struct pool *pool, struct set *set) {
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
    if (engine.create(&set->sessions[set->count], &info) != CUDA_SUCCESS) return false;
    set->count++;
    return true;
}

static bool may_open(const struct pool *pool, int64_t now) {
    int count = 0;
    for (int i = 0; i < SETS; i++) count += pool->sets[i].count;
    return count < pool->most && now - pool->failed_ns >= kept_ns;
}

/* Opens one more session at most, if a picture of COUNT tiles can use one. Others wait meanwhile.
 */
static void open_another(struct pool *pool, struct set *set, int engines, uint32_t count,
                         int64_t now) {
    if (set->count >= engines || (uint32_t)set->count >= count || !may_open(pool, now)) return;
    pool->used_ns = now;
    if (!open_session(pool, set)) pool->failed_ns = now;
}

/* The free set with the most sessions; NULL: none has any or may open one. */
static struct set *find_set(struct pool *pool, int64_t now) {
    struct set *best = NULL;
    for (int i = 0; i < SETS; i++) {
        struct set *set = &pool->sets[i];
        const bool good = !set->busy && (set->count || may_open(pool, now));
        if (good && (!best || set->count > best->count)) best = set;
    }
    return best;
}

/* A set, with sessions, that a picture has taken, and its pool. */
struct taken {
    struct pool *pool;
    struct set *set; /* NULL: none */
};

/* *WAIT: there may be a set later. */
static struct taken take_set(int gpu, const struct hevc_parameters *p, uint32_t count, bool *wait) {
    const int64_t now = clock_coarse_ns();
    const int engines = count_engines(gpu);
    struct pool *pool = engines ? find_pool(gpu, p, now) : NULL;
    struct set *set = pool && engine.busy < SETS ? find_set(pool, now) : NULL;
    if (set) open_another(pool, set, engines, count, now);
    const bool none = !set || !set->count;
    *wait = pool && none && (engine.busy == SETS || pool_is_busy(pool));
    if (none) return (struct taken){ pool, NULL };
    pool->used_ns = now;
    set->busy = true;
    engine.busy++;
    return (struct taken){ pool, set };
}

void video_engine_open(int gpu) {
    pthread_mutex_lock(&engine.lock);
    count_engines(gpu);
    engine.lanes++;
    pthread_mutex_unlock(&engine.lock);
}

void video_engine_close(void) {
    pthread_mutex_lock(&engine.lock);
    if (--engine.lanes == 0)
        for (int i = 0; i < VIDEO_SIZES; i++) pool_close(&engine.pools[i]);
    pthread_mutex_unlock(&engine.lock);
}

/* ---- a picture */

/* Memory for submitting pictures, one after the other. */
struct submission {
    CUVIDPICPARAMS parameters; /* some KB */
    uint8_t *bytes;            /* the slice, behind a start code */
    size_t room;
};

static bool copy_slice(struct submission *submission, const struct hevc_unit *slice) {
    const size_t length = sizeof start_code + slice->length;
    if (length > UINT32_MAX) return false;
    if (length > submission->room) {
        free(submission->bytes);
        submission->bytes = malloc(length);
        submission->room = submission->bytes ? length : 0;
        if (!submission->bytes) return false;
    }
    memcpy(submission->bytes, start_code, sizeof start_code);
    memcpy(submission->bytes + sizeof start_code, slice->bytes, slice->length);
    return true;
}

/* The driver copies the slice before it returns. */
static bool submit(struct submission *submission, CUvideodecoder session, int surface,
                   const struct video_picture *picture) {
    const struct hevc_parameters *p = picture->parameters;
    const unsigned offset = 0;
    CUVIDPICPARAMS *to = &submission->parameters;
    if (!copy_slice(submission, &picture->slice)) return false;
    memset(to, 0, sizeof *to);
    to->PicWidthInMbs = (int)(p->width + MACROBLOCK - 1) / MACROBLOCK;
    to->FrameHeightInMbs = (int)(p->height + MACROBLOCK - 1) / MACROBLOCK;
    to->CurrPicIdx = surface;
    to->pBitstreamData = submission->bytes;
    to->nBitstreamDataLen = (unsigned)(sizeof start_code + picture->slice.length);
    to->nNumSlices = 1;
    to->pSliceDataOffsets = &offset;
    to->ref_pic_flag = to->intra_pic_flag = 1;
    video_parameters(p, &to->CodecSpecific.hevc);
    return engine.decode(session, to) == CUDA_SUCCESS;
}

/* ---- a round: at most as many pictures as there are surfaces */

struct round {
    struct taken taken;
    uint32_t count, mapped;
    unsigned long long frames[ROUND_MAX];
};

static CUvideodecoder session_of(const struct round *round, uint32_t i) {
    return round->taken.set->sessions[i % (uint32_t)round->taken.set->count];
}

static int surface_of(const struct round *round, uint32_t i) {
    return (int)(i / (uint32_t)round->taken.set->count);
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
        const struct video_frame frame = { luma, luma + (uint64_t)pitch * round->taken.pool->height,
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
static bool decode_round(struct round *round, struct submission *submission,
                         const struct video_picture *pictures, uint32_t first,
                         const struct video_taker *taker, bool *broken) {
    bool good = true;
    for (uint32_t i = 0; i < round->count && good; i++)
        good = submit(submission, session_of(round, i), surface_of(round, i), &pictures[first + i]);
    good = good && take_frames(round, first, taker);
    const bool done = taker->wait(taker->context);
    const bool whole = give_back(round);
    *broken = !good || !done;
    return good && done && whole;
}

static bool decode_all(const struct taken *taken, const struct video_picture *pictures,
                       uint32_t count, const struct video_taker *taker, bool *broken) {
    const uint32_t most = (uint32_t)taken->set->count * taken->pool->surfaces;
    struct submission submission = { .room = 0 };
    bool good = true;
    for (uint32_t first = 0; first < count && good; first += most) {
        good = !progress_state(taker->progress);
        if (!good) break;
        const uint32_t left = count - first;
        struct round round = { .taken = *taken, .count = left < most ? left : most };
        good = decode_round(&round, &submission, pictures, first, taker, broken);
    }
    free(submission.bytes);
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

/* Wakes the oldest picture that waits. */
static void wake_oldest(void) {
    if (engine.waiting) pthread_cond_signal(&engine.waiting->turn);
}

/* Waits for a set, behind those that came before: without an order, one in a hundred of 16 pictures
 * at once waited for four turns of all. Without a set, the picture is refused or not wanted any
 * more. */
static struct taken wait_for_set(int gpu, const struct hevc_parameters *p, uint32_t count,
                                 const struct progress *progress) {
    struct taken taken = { NULL, NULL };
    struct waiter self = { PTHREAD_COND_INITIALIZER, NULL };
    struct waiter **place = &engine.waiting;
    bool wait = true;
    pthread_mutex_lock(&engine.lock);
    while (*place) place = &(*place)->next;
    *place = &self;
    while (!progress_state(progress)) {
        struct timespec until;
        if (engine.waiting == &self) taken = take_set(gpu, p, count, &wait);
        if (!wait) break;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += STEP_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&self.turn, &engine.lock, &until);
    }
    for (place = &engine.waiting; *place != &self;) place = &(*place)->next;
    *place = self.next;
    wake_oldest();
    pthread_mutex_unlock(&engine.lock);
    pthread_cond_destroy(&self.turn);
    return taken;
}

static void give_set_back(const struct taken *taken, bool broken) {
    pthread_mutex_lock(&engine.lock);
    if (broken) set_close(taken->set);
    taken->set->busy = false;
    engine.busy--;
    wake_oldest();
    pthread_mutex_unlock(&engine.lock);
}

bool video_engine_decode(int gpu, const struct video_picture *pictures, uint32_t count,
                         const struct video_taker *taker) {
    bool broken = false;
    if (!are_alike(pictures, count)) return false;
    const struct taken taken = wait_for_set(gpu, pictures->parameters, count, taker->progress);
    if (!taken.set) return false;
    taker->begin(taker->context);
    const bool good = decode_all(&taken, pictures, count, taker, &broken);
    give_set_back(&taken, broken);
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
