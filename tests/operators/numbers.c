// SPDX-License-Identifier: Apache-2.0
// One number of an image, and lists of them.
#R2S_FUNC
static T maior(E a, E b) { return a > b ? a : b; }
#R2S_FUNC int
static T sum(E a, E b) { return a + b; }
#R2S_FUNC unsigned long long
static T product(E a, E b) { return (2 * a + 1) * (2 * b + 1) / 2; }
#R2S_FUNC
static unsigned char all_bits(unsigned char a, unsigned char b) { return a | b; }
#R2S_FUNC
static int divisor(int a, int b) {
    while (b) { int r = a % b; a = b; b = r; }
    return a;
}
#STRUCT
typedef struct { int level; /* 127 [0,65535] what is counted lies above */ } above;
#R2V_FUNC
static void count_above(unsigned char v, int *out, int bins, above a) { if (v > a.level) atomicAdd(out, 1); }
#R2V_FUNC unsigned int
static void two_levels(unsigned short v, unsigned int *out, int bins) {
    atomicAdd(&out[(v >> 12) * 17 % bins], 1);
    atomicAdd(&out[(v & 15) * 17 % bins], 2);
}
