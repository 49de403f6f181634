// SPDX-License-Identifier: Apache-2.0
/* bytes.h - histogram and table look-up over runs of 8-bit samples, with AVX2 or AVX-512 where the
 * CPU has it.
 *
 * Each function has a plain twin that says what it means; both give the same bytes, and
 * tests/pipeline/bytes.c holds them to it. Runs of different calls may not overlap.
 */
#ifndef BURIN_BYTES_H
#define BURIN_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* How often each value was met, spread over tables so that equal neighbours do not wait for each
 * other. Starts zeroed; what it has counted is the sum over its tables. */
struct tally {
    uint32_t table[8][256];
};
void tally_sum(const struct tally *tally, uint32_t counts[256]);

/* Counts every value of BYTES. */
void tally_bytes(struct tally *tally, const uint8_t *bytes, size_t length);

/* Counts max(R, G, B) of every pixel. */
void tally_rgb(struct tally *tally, const uint8_t *rgb, size_t pixels);

/* OUT[i] = TABLE[IN[i]]. */
void bytes_map(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length);

/* New levels of V = max(R, G, B), and for each V what its pixels' channels are multiplied by:
 * LEVEL[V] / V in units of 2^-16. */
struct rgb_table {
    uint32_t factor[256];
    uint8_t level[256];
};
void rgb_table_make(struct rgb_table *table, const uint8_t level[256]);

/* Each channel c becomes round(c * LEVEL[V] / V), half up; LEVEL[0] where V is 0. */
void rgb_map(const struct rgb_table *table, const uint8_t *rgb, uint8_t *out, size_t pixels);

/* Luma of every pixel, as pipeline/ops/grayscale.h has it. */
void rgb_luma(const uint8_t *rgb, uint8_t *gray, size_t pixels);

/* For tests and benchmarks: the most that is used from now on, where the CPU has it. Of the
 * functions here bytes_map alone has a path beyond AVX2. */
enum bytes_path { BYTES_PLAIN, BYTES_AVX2, BYTES_BEST };
void bytes_limit(enum bytes_path path);

#endif
