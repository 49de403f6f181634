// SPDX-License-Identifier: Apache-2.0
/* isa-l makes the same bytes of the same bytes, wherever the room of its stream lies; and where a
 * stream is placed without a look at them, it does not: else nothing would be tested. */
#include "pipeline/codecs/isal_place.h"

#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { BYTES = 1600, ADDRESSES = 8000, ROOM = 1 << 19, STEP = 0x35b7 << 16 };

/* Of streams; between them isa-l's tables grow. */
static const size_t lengths[] = { 6, 19, 20, 31, 63, 127, 255, 420, 511, 1023, BYTES };
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Nothing else lies there. */
static const uintptr_t first_address = 0x200000000000;

static uint8_t tables[ISAL_DEF_LVL2_DEFAULT];

static size_t deflate_by(struct isal_zstream *stream, int level, uint8_t *bytes, size_t length,
                         uint8_t *out, size_t room) {
    isal_deflate_init(stream);
    stream->gzip_flag = IGZIP_ZLIB;
    stream->level = (uint32_t)level;
    stream->level_buf = tables;
    stream->level_buf_size = level == 1 ? ISAL_DEF_LVL1_DEFAULT : ISAL_DEF_LVL2_DEFAULT;
    stream->next_in = bytes;
    stream->avail_in = (uint32_t)length;
    stream->end_of_stream = 1;
    stream->next_out = out;
    stream->avail_out = (uint32_t)room;
    assert_int_equal(isal_deflate(stream), COMP_OK);
    return stream->total_out;
}

/* The beginning comes again: whether that is found is what the address has a part in. */
static void fill(uint8_t *bytes, size_t length) {
    const size_t repeated = length < 200 ? 6 : 24, step = length < 200 ? 10 + length / 8 : 100;
    uint32_t noise = 1;
    for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)(noise_next(&noise) >> 24);
    for (size_t at = step; at + repeated < length; at += step + repeated)
        memcpy(bytes + at, bytes, repeated);
}

/* At how many of ADDRESSES other bytes are made than in a sound place. PLACED: by isal_place. */
static int count_others(int level, size_t length, bool placed) {
    static struct isal_zstream streams[8];
    static uint8_t bytes[BYTES], right[2 * BYTES], got[2 * BYTES];
    int others = 0;
    fill(bytes, length);
    assert_true(sizeof streams >= isal_place_room());
    struct isal_zstream *sound = isal_place((uint8_t *)streams, bytes, length);
    const size_t right_length = deflate_by(sound, level, bytes, length, right, sizeof right);
    for (uintptr_t i = 0; i < ADDRESSES; i++) {
        void *room = mmap((void *)(first_address + i * STEP), ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(room != MAP_FAILED);
        struct isal_zstream *stream = placed ? isal_place(room, bytes, length) : room;
        assert_true((uint8_t *)(stream + 1) <= (uint8_t *)room + isal_place_room());
        others += deflate_by(stream, level, bytes, length, got, sizeof got) != right_length ||
                  memcmp(got, right, right_length) != 0;
        munmap(room, ROOM);
    }
    return others;
}

static void the_address_has_no_part_in_it(void **state) {
    (void)state;
    for (int i = 0; i < 2 * LENGTHS; i++)
        assert_int_equal(count_others(1 + i % 2, lengths[i / 2], true), 0);
}

/* Told and not asserted: another version of isa-l, or another processor's, may do better. */
static void without_a_place_it_has(void **state) {
    (void)state;
    for (int i = 0; i < LENGTHS; i++)
        printf("%zu bytes: %d of %d addresses make other ones\n", lengths[i],
               count_others(1, lengths[i], false), ADDRESSES);
}

/* Fewer bytes than there are positions to look at are looked at by nobody. */
static void short_ones_lie_anywhere(void **state) {
    static uint8_t room[ROOM], bytes[5];
    (void)state;
    for (size_t length = 0; length <= sizeof bytes; length++)
        assert_ptr_equal(isal_place(room, bytes, length), room);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_address_has_no_part_in_it),
                                        cmocka_unit_test(without_a_place_it_has),
                                        cmocka_unit_test(short_ones_lie_anywhere) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
