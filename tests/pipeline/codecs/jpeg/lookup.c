// SPDX-License-Identifier: Apache-2.0
/* Symbols found by tables, beside a code read bit by bit: standard tables, and codes made at random
 * of every length. */
#include "pipeline/codecs/jpeg/lookup.h"
#include "pipeline/codecs/jpeg/scan.h"
#include "pipeline/codecs/jpeg/zigzag.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct code {
    uint8_t counts[16], symbols[256];
};

static void make(struct jpeg_lookup *lookup, const struct code *code, bool dc) {
    jpeg_lookup_measure(lookup, code->counts);
    for (uint32_t i = 0; i < JPEG_SYMBOLS; i++)
        lookup->symbols[i] = jpeg_lookup_symbol(code->counts, code->symbols, i, dc);
    for (uint32_t i = 0; i < JPEG_SHORTS; i++) {
        lookup->shorts[i] = jpeg_lookup_short(lookup, i);
        lookup->pairs[i] = jpeg_lookup_pair(lookup, i);
    }
    for (uint32_t i = 0; i < JPEG_LONGS; i++) lookup->longs[i] = jpeg_lookup_long(lookup, i);
}

/* Reads bit by bit as T.81, F.2.2.3, does; a symbol that baseline lacks is no code. */
static struct jpeg_symbol read_slowly(const struct code *code, uint32_t next, bool dc) {
    uint32_t value = 0, first = 0, place = 0;
    for (uint32_t bits = 1; bits <= 16; bits++, first *= 2) {
        value = value * 2 + (next >> (32 - bits) & 1);
        const uint32_t count = code->counts[bits - 1];
        if (value < first + count) {
            const uint32_t symbol = code->symbols[place + value - first];
            const uint32_t size = dc ? symbol : symbol & 15, run = symbol >> 4;
            const bool zeros = !dc && size == 0;
            if (size > (dc ? 11u : 10u) || (zeros && run && run != 15)) break;
            const uint32_t step = dc ? 1 : zeros && !run ? JPEG_STEP_END : run + 1;
            return (struct jpeg_symbol){ bits, size, step, 0 };
        }
        first += count;
        place += count;
    }
    return (struct jpeg_symbol){ 1, 0, 0, 0 };
}

static void assert_symbol(struct jpeg_symbol a, struct jpeg_symbol b) {
    assert_true(a.length == b.length && a.size == b.size && a.step == b.step && a.pair == b.pair);
}

/* Two at once are one behind the other. */
static void check_pair(const struct jpeg_lookup *lookup, const struct code *code, uint32_t next) {
    const struct jpeg_symbol both = jpeg_lookup_find(lookup, next, true);
    const struct jpeg_symbol first = read_slowly(code, next, false);
    if (!both.pair) {
        assert_symbol(both, first);
        return;
    }
    const struct jpeg_symbol second = read_slowly(code, next << (first.length + first.size), false);
    const uint32_t step = second.step == JPEG_STEP_END ? 64 : second.step;
    assert_true(first.size > 0 && (second.size > 0 || second.step == JPEG_STEP_END));
    assert_int_equal(both.length, first.length + first.size + second.length);
    assert_int_equal(both.size, second.size);
    assert_int_equal(both.step, first.step + step);
}

static unsigned check_code(const struct code *code, bool dc, uint32_t *state) {
    static struct jpeg_lookup lookup;
    unsigned pairs = 0;
    make(&lookup, code, dc);
    for (int i = 0; i < 4000; i++) {
        const uint32_t high = noise_next(state) >> 16, low = noise_next(state) >> 16;
        uint32_t next = high << 16 | low;
        if (i % 4 == 0) next |= ~0u << (20 + i % 11); /* long codes */
        assert_symbol(jpeg_lookup_find(&lookup, next, false), read_slowly(code, next, dc));
        if (dc) continue;
        check_pair(&lookup, code, next);
        pairs += jpeg_lookup_find(&lookup, next, true).pair;
    }
    return pairs;
}

static void standard_codes(void **state) {
    uint32_t noise = 5;
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool dc = i < 2;
        const struct jpeg_huffman_table *table =
            dc ? &jpeg_standard_dc[i] : &jpeg_standard_ac[i - 2];
        struct code code = { 0 };
        memcpy(code.counts, table->counts, 16);
        memcpy(code.symbols, table->symbols, table->symbol_count);
        const unsigned pairs = check_code(&code, dc, &noise);
        assert_true(dc || pairs > 500);
    }
}

/* Symbols of all kinds, those that baseline has not among them. */
static void codes_at_random(void **state) {
    uint32_t noise = 9;
    (void)state;
    for (int made = 0; made < 200;) {
        struct code code;
        uint32_t count = 0;
        const uint32_t least = noise_next(&noise) >> 28;
        memset(&code, 0, sizeof code);
        for (int i = 0; i < 256; i++) code.symbols[i] = (uint8_t)(noise_next(&noise) >> 24);
        for (uint32_t i = least; i < 16; i++) {
            code.counts[i] = (uint8_t)(noise_next(&noise) >> 24) >> (noise >> 20 & 7);
            count += code.counts[i];
            if (count > 256 || !huffman_is_code(code.counts))
                count -= code.counts[i], code.counts[i] = 0;
        }
        if (!huffman_is_code(code.counts)) continue;
        check_code(&code, made++ % 4 == 0, &noise);
    }
}

static void numbers(void **state) {
    (void)state;
    assert_int_equal(jpeg_number(0xffffffff, 0), 0);
    for (uint32_t size = 1; size <= 11; size++)
        for (uint32_t bits = 0; bits < 1u << size; bits++) {
            const int value = (int)bits, half = 1 << (size - 1);
            assert_int_equal(jpeg_number(bits << (32 - size) | 0x155555 >> size, size),
                             value < half ? value - 2 * half + 1 : value);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_codes),
        cmocka_unit_test(codes_at_random),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
