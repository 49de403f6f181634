// SPDX-License-Identifier: Apache-2.0
/* median.h - the median of a square of 3 x 3 or 5 x 5 samples: the shared networks.
 *
 * Each colour channel alone; the border is replicated. The result is the middle one, in order, of
 * the 9 or 25 samples, as OpenCV's medianBlur and scipy's median_filter(mode="nearest") have it.
 * An image with alpha is laid over the background before; alpha is kept.
 *
 * How it works. Each column of the square is sorted, which neighbours share. Then a network of
 * exchanges finds the middle of sorted columns. The one for 25 was found by search: starting from
 * sorted rows, exchanges were removed or altered as long as each of the 6^5 inputs of zeros and
 * ones whose columns are sorted still had the right result. By the zero-one principle so has every
 * input.
 *
 * Used by:  median, on both devices.
 */
#ifndef BURIN_OPS_MEDIAN_H
#define BURIN_OPS_MEDIAN_H

/* Places in the parameter list and among the sizes. */
enum { MEDIAN_SIZE, MEDIAN_BACKGROUND };
enum { MEDIAN_3, MEDIAN_5 };

/* X(a, b) exchanges places a and b, so that the lesser is at a. */
#define MEDIAN_SORT_3(X) X(0, 1) X(1, 2) X(0, 1)
#define MEDIAN_SORT_5(X) X(0, 1) X(3, 4) X(2, 4) X(2, 3) X(1, 4) X(0, 3) X(0, 2) X(1, 3) X(1, 2)

/* Place r * side + c has rank r in column c. The result is at MEDIAN_AT_3 and MEDIAN_AT_5; other
 * places hold anything. */
#define MEDIAN_OF_3(X)                                                                             \
    X(0, 1) X(1, 2) X(3, 4) X(4, 5) X(3, 4) X(7, 8) X(6, 7) X(2, 4) X(4, 6) X(2, 4)
#define MEDIAN_OF_5(X)                                                                             \
    X(0, 1) X(2, 4) X(11, 14) X(1, 4) X(20, 21) X(1, 8) X(5, 6) X(15, 16) X(7, 9) X(6, 9)          \
    X(5, 7) X(8, 9) X(17, 19) X(10, 11) X(0, 3) X(12, 14) X(12, 13) X(2, 3) X(10, 12) X(11, 13)    \
    X(11, 12) X(6, 8) X(6, 7) X(9, 11) X(16, 19) X(15, 18) X(16, 18) X(23, 24) X(13, 14)           \
    X(22, 24) X(20, 23) X(20, 22) X(21, 23) X(21, 22) X(17, 18) X(7, 8) X(12, 13) X(3, 4)          \
    X(8, 20) X(3, 7) X(4, 8) X(11, 13) X(15, 17) X(16, 20) X(11, 12) X(16, 17) X(4, 11) X(7, 9)    \
    X(8, 11) X(8, 9) X(11, 12) X(20, 21) X(17, 20) X(9, 15) X(11, 16) X(12, 17) X(8, 11)           \
    X(12, 15) X(11, 12)
enum { MEDIAN_AT_3 = 4, MEDIAN_AT_5 = 12 };

#endif
