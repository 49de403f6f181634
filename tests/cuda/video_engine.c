// SPDX-License-Identifier: Apache-2.0
/* Sessions and pictures of the video engines, with a library and a clock that play them: what is
 * opened and kept, in which order tiles come, what an engine learns, and which pictures are
 * refused. */
#include "cuda/video_engine.h"

#include "tests/pipeline/codecs/heic/parameter_sets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#if __has_include(<ffnvcodec/dynlink_cuviddec.h>)

#include "tests/fake/nvcuvid.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TILES_MAX = 256, ENGINES = 7 };

static struct fake *fake;
static struct hevc_parameters parameters;
static struct video_picture pictures[TILES_MAX];
static const uint8_t slice[] = { 38, 1, 0xaf, 5, 6, 7 };

/* The taker notes this. */
static struct seen {
    uint32_t next, first_number; /* of takes; of the picture that the fake counts */
    int begins, waits, order_faults, fail_at, cancel_at; /* cancel_at: in that wait; 0: never */
    bool wait_fails, hold;                               /* hold: begin waits while this is set */
    struct progress progress;
} seen;

/* The coarse clock, by which sessions age, is ahead of the true one. */
static long ahead_ms;

int clock_gettime(clockid_t clock, struct timespec *now) {
    const int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock != CLOCK_MONOTONIC_COARSE) return failed;
    now->tv_nsec += ahead_ms % 1000 * 1000000;
    now->tv_sec += ahead_ms / 1000 + now->tv_nsec / 1000000000;
    now->tv_nsec %= 1000000000;
    return failed;
}

static void begin_picture(void *context) {
    struct seen *this = context;
    __atomic_add_fetch(&this->begins, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&this->hold, __ATOMIC_ACQUIRE)) usleep(1000);
}

static bool take(void *context, uint32_t number, const struct video_frame *frame) {
    struct seen *this = context;
    this->order_faults += number != this->next++;
    this->order_faults += frame->luma != ((uint64_t)this->first_number + number + 1) << 32;
    this->order_faults += frame->chroma != frame->luma + 1024 * (uint64_t)parameters.height;
    this->order_faults += frame->pitch != 1024;
    return (int)number != this->fail_at;
}

static bool wait_for(void *context) {
    struct seen *this = context;
    if (++this->waits == this->cancel_at) this->progress.cancelled = 1;
    return !this->wait_fails;
}

static bool decode(uint32_t width, uint32_t height, uint8_t bits, uint32_t count) {
    const struct video_taker taker = {
        &seen.progress, &seen, &seen, begin_picture, take, wait_for
    };
    parameters.width = width;
    parameters.height = height;
    parameters.bits = bits;
    for (uint32_t i = 0; i < count; i++)
        pictures[i] = (struct video_picture){ &parameters, { slice, sizeof slice } };
    seen.next = 0;
    seen.first_number = (uint32_t)fake->pictures;
    const bool good = video_engine_decode(0, pictures, count, &taker);
    assert_int_equal(fake->faults + seen.order_faults, 0);
    assert_int_equal(fake->mapped, 0);
    return good;
}

/* Pictures of the size, as many as there are engines: each opens a session. */
static bool decode_often(uint32_t width, uint32_t height, uint8_t bits, uint32_t count) {
    bool good = true;
    for (int i = 0; i < ENGINES; i++) good &= decode(width, height, bits, count);
    seen.begins = seen.waits = 0;
    return good;
}

/* Sessions of tests before are closed: two further sizes replace them, and age. */
static int set_up(void **state) {
    uint32_t random = 1;
    struct beside beside;
    (void)state;
    parameters = choose(&random, &beside);
    seen = (struct seen){ .fail_at = -1 };
    fake->engines = ENGINES;
    fake->supported = 1;
    fake->creates_allowed = 1000;
    fake->damaged = fake->unmappable = fake->undecodable = -1;
    ahead_ms += 2000;
    const bool good =
        video_engine_count(0) == ENGINES && decode(256, 256, 8, 1) && decode(256, 256, 10, 1);
    fake->created = fake->create_calls = fake->destroyed = fake->most_mapped = 0;
    seen.begins = seen.waits = 0;
    ahead_ms += 2000;
    return good ? 0 : -1;
}

static int open_sessions(void) {
    int open = 0;
    for (int i = 0; i < FAKE_SESSIONS; i++) open += fake->sessions[i].open;
    return open;
}

/* ---- tests */

static void test_a_phone(void **state) {
    (void)state;
    for (int i = 0; i < ENGINES; i++) { /* one session more with each picture */
        assert_true(decode(512, 512, 8, 48));
        assert_int_equal(fake->created, i + 1);
        assert_int_equal(seen.next, 48);
    }
    assert_int_equal(seen.waits, 6 + 3 + 2 + 2 + 2 + 1 + 1); /* 8 surfaces a session */
    assert_int_equal(seen.begins, ENGINES);
    assert_int_equal(fake->most_mapped, 48);
    assert_true(decode(512, 512, 8, 48)); /* the sessions are kept */
    assert_int_equal(fake->created, ENGINES);
}

/* More tiles than surfaces: 7 sessions of 8. */
static void test_rounds(void **state) {
    (void)state;
    assert_true(decode_often(512, 512, 8, 48));
    assert_true(decode(512, 512, 8, 192));
    assert_int_equal(seen.next, 192);
    assert_int_equal(seen.waits, 4);
    assert_int_equal(fake->most_mapped, 56);
}

/* A place is taken for a second after its last use. */
static void test_sizes(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) assert_true(decode(512, 512, 8, 3));
    assert_int_equal(fake->created, 3); /* as many as it can use */
    assert_true(decode(512, 512, 8, 4));
    assert_int_equal(fake->created, 4);
    assert_true(decode(640, 512, 8, 1));
    assert_int_equal(open_sessions(), 5);
    assert_false(decode(512, 512, 10, 2)); /* neither is old */
    ahead_ms += 900;
    assert_true(decode(512, 512, 8, 1)); /* used last */
    assert_false(decode(512, 512, 10, 2));
    assert_int_equal(fake->create_calls, 5);
    ahead_ms += 200;
    assert_true(decode(512, 512, 10, 2));
    assert_int_equal(open_sessions(), 5);
    assert_false(decode(640, 512, 8, 1));
    assert_true(decode(512, 512, 8, 4));
    assert_int_equal(fake->created, 6);
}

/* Bytes of surfaces: a session alone may have more than all are to have. */
static void test_large_ones(void **state) {
    (void)state;
    assert_true(decode(8192, 8192, 10, 3));
    assert_true(decode(8192, 8192, 10, 3));
    assert_int_equal(fake->created, 1);
    assert_int_equal(seen.waits, 6);
    assert_true(decode_often(4096, 4096, 8, 9)); /* 96 MB a session */
    assert_int_equal(fake->created, 1 + 5);
    for (int i = 0; i < FAKE_SESSIONS; i++) {
        const CUVIDDECODECREATEINFO *info = &fake->sessions[i].info;
        if (!fake->sessions[i].open) continue;
        assert_int_equal(info->ulNumOutputSurfaces, 1);
        assert_int_equal(info->ulNumDecodeSurfaces, 2);
    }
}

static void test_facts_of_a_session(void **state) {
    (void)state;
    assert_true(decode(640, 360, 10, 1));
    for (int i = 0; i < FAKE_SESSIONS; i++) {
        const CUVIDDECODECREATEINFO *info = &fake->sessions[i].info;
        if (!fake->sessions[i].open || info->ulWidth != 640) continue;
        assert_int_equal(info->ulHeight, 360);
        assert_int_equal(info->ulMaxWidth, 640);
        assert_int_equal(info->ulTargetHeight, 360);
        assert_int_equal(info->display_area.right, 640);
        assert_int_equal(info->display_area.bottom, 360);
        assert_int_equal(info->bitDepthMinus8, 2);
        assert_int_equal(info->OutputFormat, cudaVideoSurfaceFormat_P016);
        assert_int_equal(info->CodecType, cudaVideoCodec_HEVC);
        assert_int_equal(info->ChromaFormat, cudaVideoChromaFormat_420);
        return;
    }
    fail();
}

/* Each element in its own place: all parameters are at random. */
static void test_facts_of_a_picture(void **state) {
    (void)state;
    uint32_t random = 5;
    for (int i = 0; i < 300; i++) {
        struct beside beside;
        parameters = choose(&random, &beside);
        ahead_ms += 1100;
        assert_true(decode(parameters.width, parameters.height, parameters.bits, 1));
        const struct hevc_parameters *p = &parameters;
        const CUVIDHEVCPICPARAMS *known = &fake->parameters;
#define SAYS(name, value) assert_int_equal(known->name, value)
        SAYS(pic_width_in_luma_samples, p->width);
        SAYS(pic_height_in_luma_samples, p->height);
        SAYS(log2_min_luma_coding_block_size_minus3, p->log2_min_block - 3);
        SAYS(log2_diff_max_min_luma_coding_block_size, p->log2_diff_block);
        SAYS(log2_min_transform_block_size_minus2, p->log2_min_transform - 2);
        SAYS(log2_diff_max_min_transform_block_size, p->log2_diff_transform);
        SAYS(max_transform_hierarchy_depth_inter, p->depth_inter);
        SAYS(max_transform_hierarchy_depth_intra, p->depth_intra);
        SAYS(pcm_enabled_flag, p->pcm);
        SAYS(log2_min_pcm_luma_coding_block_size_minus3, p->pcm ? p->log2_min_pcm - 3 : 0);
        SAYS(pcm_sample_bit_depth_chroma_minus1, p->pcm ? p->pcm_bits_chroma - 1 : 0);
        SAYS(pcm_sample_bit_depth_luma_minus1, p->pcm ? p->pcm_bits_luma - 1 : 0);
        SAYS(pcm_loop_filter_disabled_flag, p->pcm_filter_off);
        SAYS(strong_intra_smoothing_enabled_flag, p->strong_intra_smoothing);
        SAYS(amp_enabled_flag, p->amp);
        SAYS(sample_adaptive_offset_enabled_flag, p->sao);
        SAYS(log2_max_pic_order_cnt_lsb_minus4, p->log2_poc_lsb - 4);
        SAYS(num_short_term_ref_pic_sets, p->short_term_sets);
        SAYS(num_long_term_ref_pics_sps, p->long_term_pictures);
        SAYS(sps_temporal_mvp_enabled_flag, p->temporal_mvp);
        SAYS(bit_depth_luma_minus8, p->bits - 8);
        SAYS(dependent_slice_segments_enabled_flag, p->dependent_slices);
        SAYS(slice_segment_header_extension_present_flag, p->slice_extension);
        SAYS(sign_data_hiding_enabled_flag, p->sign_hiding);
        SAYS(cu_qp_delta_enabled_flag, p->qp_delta);
        SAYS(diff_cu_qp_delta_depth, p->qp_delta_depth);
        SAYS(init_qp_minus26, p->init_qp - 26);
        SAYS(pps_cb_qp_offset, p->cb_offset);
        SAYS(pps_cr_qp_offset, p->cr_offset);
        SAYS(constrained_intra_pred_flag, p->constrained_intra);
        SAYS(transform_skip_enabled_flag, p->transform_skip);
        SAYS(transquant_bypass_enabled_flag, p->bypass);
        SAYS(entropy_coding_sync_enabled_flag, p->entropy_sync);
        SAYS(num_extra_slice_header_bits, p->extra_slice_bits);
        SAYS(loop_filter_across_tiles_enabled_flag, p->filter_across_tiles);
        SAYS(loop_filter_across_slices_enabled_flag, p->filter_across_slices);
        SAYS(output_flag_present_flag, p->output_flag);
        SAYS(cabac_init_present_flag, p->cabac_init);
        SAYS(pps_slice_chroma_qp_offsets_present_flag, p->slice_chroma_offsets);
        SAYS(deblocking_filter_override_enabled_flag, p->deblocking_override);
        SAYS(pps_deblocking_filter_disabled_flag, p->deblocking_off);
        SAYS(pps_beta_offset_div2, p->half_beta_offset);
        SAYS(pps_tc_offset_div2, p->half_tc_offset);
        SAYS(tiles_enabled_flag, p->tiles);
        SAYS(num_tile_columns_minus1, p->columns - 1);
        SAYS(num_tile_rows_minus1, p->rows - 1);
        for (int t = 0; p->tiles && t < p->columns; t++)
            SAYS(column_width_minus1[t], p->widths[t] - 1);
        for (int t = 0; p->tiles && t < p->rows; t++) SAYS(row_height_minus1[t], p->heights[t] - 1);
        SAYS(IdrPicFlag, 1);
        SAYS(RefPicIdx[15], -1);
        assert_int_equal(fake->picture.PicWidthInMbs, (p->width + 15) / 16);
        assert_int_equal(fake->picture.FrameHeightInMbs, (p->height + 15) / 16);
        assert_int_equal(fake->picture.nBitstreamDataLen, 3 + sizeof slice);
        assert_memory_equal(fake->bytes, "\0\0\1", 3);
        assert_memory_equal(fake->bytes + 3, slice, sizeof slice);
    }
}

static void test_damage(void **state) {
    (void)state;
    assert_true(decode_often(512, 512, 8, 20));
    for (int i = 0; i < 20; i++) {
        fake->damaged = fake->pictures + i;
        assert_false(decode(512, 512, 8, 20));
        assert_int_equal(seen.next, 20);
    }
    assert_true(decode(512, 512, 8, 20));
    assert_int_equal(fake->created, ENGINES);
    assert_int_equal(fake->destroyed, 1); /* of another size */
}

/* Sessions that failed are opened anew; their size keeps its place. */
static void test_failures(void **state) {
    (void)state;
    assert_true(decode_often(512, 512, 8, 20));
    fake->unmappable = fake->pictures + 13;
    assert_false(decode(512, 512, 8, 20));
    assert_int_equal(seen.waits, 1);
    assert_int_equal(fake->destroyed, 1 + ENGINES);
    fake->undecodable = fake->pictures + 3;
    assert_false(decode(512, 512, 8, 20));
    assert_int_equal(fake->destroyed, 2 + ENGINES);
    seen.fail_at = 4;
    assert_false(decode(512, 512, 8, 20));
    seen.fail_at = -1;
    seen.wait_fails = true;
    assert_false(decode(512, 512, 8, 20));
    seen.wait_fails = false;
    assert_true(decode(640, 512, 8, 20));
    assert_false(decode(768, 512, 8, 20));
    assert_true(decode(512, 512, 8, 20));
    assert_int_equal(fake->created, ENGINES + 5);
}

/* A size that the GPU does not open is tried once a second, and has a place meanwhile. */
static void test_few_sessions(void **state) {
    (void)state;
    fake->creates_allowed = 0;
    for (int i = 0; i < 5; i++) assert_false(decode(512, 512, 8, 20));
    assert_int_equal(fake->create_calls, 1);
    fake->creates_allowed = 1;
    assert_true(decode(640, 512, 8, 20));
    assert_false(decode(512, 512, 8, 20));
    assert_false(decode(768, 512, 8, 20));
    assert_int_equal(fake->create_calls, 2);
    for (int i = 0; i < 5; i++) assert_true(decode(640, 512, 8, 20)); /* with the one it has */
    assert_int_equal(fake->create_calls, 3);
    fake->creates_allowed = 2;
    ahead_ms += 1100;
    assert_true(decode(512, 512, 8, 20));
    assert_int_equal(seen.next, 20);
    assert_true(decode(640, 512, 8, 20));
    assert_int_equal(fake->created, 3);
}

static void *decode_held(void *context) {
    struct seen *this = context;
    const struct video_taker taker = { NULL, this, this, begin_picture, take, wait_for };
    return video_engine_decode(0, pictures, 1, &taker) ? this : NULL;
}

/* Two pictures have the engines at a time, each with sessions of its own. A job that is cancelled
 * or late does not wait for them any longer. */
static void test_the_wait_ends(void **state) {
    (void)state;
    pthread_t threads[2];
    struct seen others[2];
    struct progress progress = { .cancelled = 1 };
    const struct video_taker taker = { &progress, &seen, &seen, begin_picture, take, wait_for };
    assert_true(decode(512, 512, 8, 1));
    seen.begins = 0;
    for (int i = 0; i < 2; i++) {
        others[i] = (struct seen){ .fail_at = -1, .hold = true };
        assert_int_equal(pthread_create(&threads[i], NULL, decode_held, &others[i]), 0);
        while (!__atomic_load_n(&others[i].begins, __ATOMIC_ACQUIRE)) usleep(1000);
        assert_int_equal(fake->created, i + 1);
    }
    assert_false(video_engine_decode(0, pictures, 1, &taker));
    progress.cancelled = 0;
    progress.deadline_ns = clock_coarse_ns() + 20000000;
    assert_false(video_engine_decode(0, pictures, 1, &taker));
    assert_true(clock_coarse_ns() > progress.deadline_ns);
    assert_int_equal(seen.begins, 0);
    for (int i = 0; i < 2; i++) { /* the fake library takes one call at a time */
        void *good;
        others[i].first_number = (uint32_t)fake->pictures;
        __atomic_store_n(&others[i].hold, false, __ATOMIC_RELEASE);
        pthread_join(threads[i], &good);
        assert_non_null(good);
        assert_int_equal(others[i].order_faults, 0);
    }
    assert_true(decode(512, 512, 8, 1));
    assert_int_equal(fake->created, 2); /* a set that is there */
}

/* A picture for which no session is opened waits for the sessions that another has. */
static void test_no_second_session(void **state) {
    (void)state;
    pthread_t thread;
    struct seen other = { .fail_at = -1, .hold = true };
    struct progress progress = { .cancelled = 0 };
    const struct video_taker taker = { &progress, &seen, &seen, begin_picture, take, wait_for };
    void *good;
    assert_true(decode(512, 512, 8, 1));
    fake->creates_allowed = 0;
    other.first_number = (uint32_t)fake->pictures;
    assert_int_equal(pthread_create(&thread, NULL, decode_held, &other), 0);
    while (!__atomic_load_n(&other.begins, __ATOMIC_ACQUIRE)) usleep(1000);
    progress.deadline_ns = clock_coarse_ns() + 20000000;
    assert_false(video_engine_decode(0, pictures, 1, &taker));
    assert_true(clock_coarse_ns() > progress.deadline_ns);
    __atomic_store_n(&other.hold, false, __ATOMIC_RELEASE);
    pthread_join(thread, &good);
    assert_non_null(good);
}

/* Between two rounds. */
static void test_the_work_ends(void **state) {
    (void)state;
    assert_true(decode_often(512, 512, 8, 20));
    seen.cancel_at = 2;
    assert_false(decode(512, 512, 8, 192));
    assert_int_equal(seen.next, 2 * 56);
    seen.progress.cancelled = 0;
    assert_true(decode(512, 512, 8, 192));
    assert_int_equal(fake->created, ENGINES);
}

static void test_other_gpus(void **state) {
    (void)state;
    const struct video_taker taker = { NULL, &seen, &seen, begin_picture, take, wait_for };
    fake->supported = 0;
    assert_int_equal(video_engine_count(1), 0);
    assert_int_equal(video_engine_count(-1), 0);
    assert_int_equal(video_engine_count(99), 0);
    assert_true(video_engine_is_there());
    assert_false(video_engine_decode(1, pictures, 1, &taker));
    fake->supported = 1;
    fake->engines = 0; /* as an older driver says it */
    assert_int_equal(video_engine_count(2), 1);
    struct hevc_parameters other = parameters;
    other.width += 8;
    pictures[1].parameters = &other;
    assert_false(video_engine_decode(0, pictures, 2, &taker));
}

static void test_the_last_lane_ends_sessions(void **state) {
    (void)state;
    video_engine_open(0);
    video_engine_open(0);
    assert_true(decode_often(512, 512, 8, 20));
    video_engine_close();
    assert_int_equal(open_sessions(), ENGINES + 1);
    video_engine_close();
    assert_int_equal(open_sessions(), 0);
    assert_true(decode(512, 512, 8, 20));
}

/* The library is found where the loader looks, which is fixed when a process starts. */
static void find_library(char **argv) {
    char self[PATH_MAX], folder[PATH_MAX], link[PATH_MAX + 32];
    if (getenv("FAKE_IS_THERE") || !realpath("/proc/self/exe", self)) return;
    snprintf(folder, sizeof folder, "%s", self);
    dirname(folder);
    snprintf(link, sizeof link, "%s/../fake/libnvcuvid.so.1", folder);
    unlink(link);
    if (symlink("nvcuvid.so", link)) return;
    *strrchr(link, '/') = 0;
    setenv("LD_LIBRARY_PATH", link, 1);
    setenv("FAKE_IS_THERE", "1", 1);
    execv(self, argv);
}

int main(int argc, char **argv) {
    (void)argc;
    find_library(argv);
    void *library = dlopen("libnvcuvid.so.1", RTLD_NOW);
    fake = library ? dlsym(library, "fake") : NULL;
    if (!fake) return 1;
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_phone),
        TEST(test_rounds),
        TEST(test_sizes),
        TEST(test_large_ones),
        TEST(test_facts_of_a_session),
        TEST(test_facts_of_a_picture),
        TEST(test_damage),
        TEST(test_failures),
        TEST(test_few_sessions),
        TEST(test_the_wait_ends),
        TEST(test_no_second_session),
        TEST(test_the_work_ends),
        TEST(test_other_gpus),
        TEST(test_the_last_lane_ends_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_none(void **state) {
    (void)state;
    assert_int_equal(video_engine_count(0), 0);
    assert_false(video_engine_is_there());
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_none) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
