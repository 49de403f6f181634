// SPDX-License-Identifier: Apache-2.0
// A sample from a sample: tables, functions of math.h, parameters of every type, the pixel's number.
#include <math.h>
#include <stdint.h>
static const unsigned char steps[4] = { 0, 85, 170, 255 };
static int clamp(double v, int most) { return v < 0 ? 0 : v > most ? most : (int)v; }
#STRUCT
typedef struct {
    double gamma;   // 2.2 [0.1,10] exponent
    int levels;     // 4 [2,256] levels that are left
    unsigned char mask; // 90 exclusive or
    bool invert;
    float gain;     // 1.5 [-10,10] factor
} settings;

#P2P_FUNC
static unsigned char gamma_by_pow(unsigned char v, int i, settings s) {
    return (unsigned char)floor(255 * pow(v / 255.0, 1 / s.gamma) + 0.5);
}
#P2P_FUNC
static unsigned char by_table(unsigned char v, int i) { return steps[v >> 6]; }
#P2P_FUNC
static unsigned char solarize(unsigned char v, int i) { return v > 127 ? 255 - v : v; }
#P2P_FUNC
static uint8_t posterize(uint8_t v, int i, settings s) { return v * s.levels / 256 * 255 / (s.levels - 1); }
#P2P_FUNC
static unsigned char exclusive(unsigned char v, int i, settings s) { return s.invert ? ~(v ^ s.mask) : v ^ s.mask; }
#P2P_FUNC
static unsigned char vignette(unsigned char v, int x, int y, int width, int height) {
    double dx = x - (width - 1) / 2.0, dy = y - (height - 1) / 2.0;
    return clamp(v * (1 - 2 * (dx * dx + dy * dy) / (width * width + height * height)), 255);
}
#P2P_FUNC
static unsigned short stretched(unsigned short v, int i, settings s) {
    return clamp((v - 32768) * s.gain + 32768, 65535);
}
#P2P_FUNC
unsigned short striped(unsigned short v, int i) { return i & 1 ? 65535 - v : v; }
