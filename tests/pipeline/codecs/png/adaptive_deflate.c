// SPDX-License-Identifier: Apache-2.0
/* zlib inflates the output again, in bands and rooms of all sizes; no single way of writing a band
 * would have been much smaller. */
#include "pipeline/codecs/png/adaptive_deflate.h"

#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, ROOM = 2 * BYTES };
static uint8_t bytes[BYTES], made[ROOM], back[BYTES];
static int fixed_level;

/* In bands of BAND bytes, taken in pieces of PIECE. Returns the length. */
static size_t deflate_all(size_t length, size_t band, size_t piece) {
    struct adaptive_deflate state;
    size_t used = 0, written;
    assert_true(adaptive_deflate_init(&state, fixed_level));
    for (size_t at = 0; at < length; at += band) {
        const size_t now = length - at < band ? length - at : band;
        assert_true(adaptive_deflate_band(&state, bytes + at, now, at + now == length));
        for (bool more = true; more; used += written) {
            assert_true(ROOM - used >= piece);
            more = adaptive_deflate_take(&state, made + used, piece, &written);
            assert_true(written <= piece && (!more || written == piece));
        }
    }
    adaptive_deflate_release(&state);
    adaptive_deflate_release(&state);
    return used;
}

static void check(size_t length, size_t band, size_t piece) {
    const size_t used = deflate_all(length, band, piece);
    uLongf inflated = sizeof back;
    assert_int_equal(uncompress(back, &inflated, made, used), Z_OK);
    assert_int_equal(inflated, length);
    assert_memory_equal(back, bytes, length);
}

/* By one strategy from the beginning to the end. */
static size_t length_by(int level, int strategy, size_t length) {
    z_stream stream = { .zalloc = Z_NULL };
    static uint8_t out[ROOM];
    assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, 15, 9, strategy), Z_OK);
    stream.next_in = bytes;
    stream.avail_in = (uInt)length;
    stream.next_out = out;
    stream.avail_out = sizeof out;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t total = stream.total_out;
    deflateEnd(&stream);
    return total;
}

/* Small differences around zero, as filters leave them of a photograph. */
static void fill_residuals(uint8_t *to, size_t length, uint32_t *noise) {
    for (size_t i = 0; i < length; i++) {
        int sum = 0;
        for (int k = 0; k < 4; k++) sum += (int)(noise_next(noise) >> 28) - 8;
        to[i] = (uint8_t)(sum / 2);
    }
}

static void fill_noise_bytes(uint8_t *to, size_t length, uint32_t *noise) {
    for (size_t i = 0; i < length; i++) to[i] = (uint8_t)(noise_next(noise) >> 24);
}

/* A row of 3000 noisy bytes again and again: only a search finds it. */
static void fill_repeats(uint8_t *to, size_t length, uint32_t *noise) {
    fill_noise_bytes(to, length < 3000 ? length : 3000, noise);
    for (size_t i = 3000; i < length; i++) to[i] = to[i - 3000];
}

static void fill_mixture(uint32_t *noise) {
    for (size_t at = 0, part = 0; at < BYTES; at += BYTES / 16, part++) {
        if (part % 4 == 0) fill_residuals(bytes + at, BYTES / 16, noise);
        if (part % 4 == 1) fill_repeats(bytes + at, BYTES / 16, noise);
        if (part % 4 == 2) fill_noise_bytes(bytes + at, BYTES / 16, noise);
        if (part % 4 == 3) memset(bytes + at, 0, BYTES / 16);
    }
}

static void every_band_comes_back(void **state) {
    (void)state;
    static const size_t lengths[] = { 1, 2, 100, 16383, 16384, 65536, 300000, BYTES };
    static const size_t bands[] = { 1000, 65536, 262144, BYTES };
    static const size_t pieces[] = { ADAPTIVE_ROOM_LEAST, 1024, 262144 };
    uint32_t noise = 1;
    fill_mixture(&noise);
    for (int i = 0; i < 8; i++)
        for (int b = 0; b < 4; b++)
            for (int p = 0; p < 3; p++)
                if (lengths[i] < 100000 || (p && b)) check(lengths[i], bands[b], pieces[p]);
    for (size_t band = 1; band < 40; band += 3) check(100, band, 64);
}

/* The bytes are a matter of what was put in, not of the room for them. */
static void room_does_not_change_the_bytes(void **state) {
    (void)state;
    uint32_t noise = 2;
    static uint8_t first[ROOM];
    fill_mixture(&noise);
    const size_t length = deflate_all(BYTES, 262144, ROOM / 2);
    memcpy(first, made, length);
    assert_int_equal(deflate_all(BYTES, 262144, 777), length);
    assert_memory_equal(first, made, length);
}

static void each_kind_is_written_its_own_way(void **state) {
    (void)state;
    uint32_t noise = 3;
    fill_residuals(bytes, BYTES, &noise);
    size_t length = deflate_all(BYTES, 262144, 262144);
    assert_true(length < length_by(6, Z_DEFAULT_STRATEGY, BYTES) * 98 / 100);
    assert_true(length <= length_by(6, Z_RLE, BYTES) + 64);
    fill_repeats(bytes, BYTES, &noise);
    length = deflate_all(BYTES, 262144, 262144);
    assert_true(length < length_by(6, Z_RLE, BYTES) / 20);
    assert_true(length < length_by(6, Z_DEFAULT_STRATEGY, BYTES) * 12 / 10);
    fill_noise_bytes(bytes, BYTES, &noise);
    length = deflate_all(BYTES, 262144, 262144);
    assert_true(length < BYTES + BYTES / 5000);
    fill_mixture(&noise);
    length = deflate_all(BYTES, BYTES / 16, 262144);
    assert_true(length < length_by(9, Z_DEFAULT_STRATEGY, BYTES));
    assert_true(length < length_by(6, Z_FILTERED, BYTES));
    assert_true(length < length_by(6, Z_RLE, BYTES));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_band_comes_back),
        cmocka_unit_test(room_does_not_change_the_bytes),
        cmocka_unit_test(each_kind_is_written_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
