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

enum { BYTES = 1600, REPEATED = 24, ADDRESSES = 40000, ROOM = 1 << 19, STEP = 0x35b7 << 16 };

/* Nothing else lies there. */
static const uintptr_t first_address = 0x200000000000;

static uint8_t tables[ISAL_DEF_LVL2_DEFAULT];

static size_t deflate_by(struct isal_zstream *stream, int level, uint8_t *bytes, uint8_t *out,
                         size_t room) {
    isal_deflate_init(stream);
    stream->gzip_flag = IGZIP_ZLIB;
    stream->level = (uint32_t)level;
    stream->level_buf = tables;
    stream->level_buf_size = level == 1 ? ISAL_DEF_LVL1_DEFAULT : ISAL_DEF_LVL2_DEFAULT;
    stream->next_in = bytes;
    stream->avail_in = BYTES;
    stream->end_of_stream = 1;
    stream->next_out = out;
    stream->avail_out = (uint32_t)room;
    assert_int_equal(isal_deflate(stream), COMP_OK);
    return stream->total_out;
}

/* The beginning comes again: whether that is found is what the address has a part in. */
static void fill(uint8_t bytes[BYTES]) {
    uint32_t noise = 1;
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(noise_next(&noise) >> 24);
    for (int at = 100; at + REPEATED < BYTES; at += 100) memcpy(bytes + at, bytes, REPEATED);
}

/* At how many of ADDRESSES other bytes are made. PLACED: by isal_place. */
static int count_others(int level, bool placed) {
    static struct isal_zstream here;
    static uint8_t bytes[BYTES], right[2 * BYTES], got[2 * BYTES];
    int others = 0;
    fill(bytes);
    const size_t length = deflate_by(&here, level, bytes, right, sizeof right);
    for (uintptr_t i = 0; i < ADDRESSES; i++) {
        void *room = mmap((void *)(first_address + i * STEP), ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(room != MAP_FAILED);
        struct isal_zstream *stream = placed ? isal_place(room, bytes, BYTES) : room;
        assert_true((uint8_t *)(stream + 1) <= (uint8_t *)room + isal_place_room());
        others += deflate_by(stream, level, bytes, got, sizeof got) != length ||
                  memcmp(got, right, length) != 0;
        munmap(room, ROOM);
    }
    return others;
}

static void the_address_has_no_part_in_it(void **state) {
    (void)state;
    for (int level = 1; level <= 2; level++) assert_int_equal(count_others(level, true), 0);
}

/* Told and not asserted: another version of isa-l, or another processor's, may do better. */
static void without_a_place_it_has(void **state) {
    (void)state;
    for (int level = 1; level <= 2; level++)
        printf("level %d: %d of %d addresses make other bytes\n", level, count_others(level, false),
               ADDRESSES);
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
