# SPDX-License-Identifier: Apache-2.0
"""Operators as users write them: the listings of the 2017 paper as they stand there, and others of every kind. Of any
image they give the same on the CPU and on the GPU.
`user_operators.py FOLDER` writes them there, a file each kind, for tests/gpu.sh."""
import pathlib
import sys

# As in Boeira, Ribeiro and others 2017, code listings 3, 8 and 10.
LISTINGS = """
#STRUCT typedef struct{ int tolerancia; } data; #P2P_FUNC static unsigned char binarizador(unsigned char pixel, int index, data parametro){ return pixel + parametro.tolerancia > 127 ? 255 : 0 ; }
#R2S_FUNC static T menor(E pixel1, E pixel2) { return pixel1 < pixel2 ? pixel1 : pixel2; }
#R2V_FUNC static void r2vProcessor(unsigned char entrada, int* saida, int bins){ atomicAdd(&saida[entrada], 1);}
"""

POINTS = """
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
    int width, height; // 1 [1,65535] of the image
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
static unsigned char vignette(unsigned char v, int index, const settings s) {
    double x = index % s.width - (s.width - 1) / 2.0, y = index / s.width - (s.height - 1) / 2.0;
    double far = (x * x + y * y) / (s.width * s.width + s.height * s.height);
    return clamp(v * (1 - 2 * far), 255);
}
#P2P_FUNC
static unsigned short contrast(unsigned short v, int i, settings s) {
    return clamp((v - 32768) * s.gain + 32768, 65535);
}
#P2P_FUNC
unsigned short striped(unsigned short v, int i) { return i & 1 ? 65535 - v : v; }
"""

WINDOWS = """
#include <stdlib.h>
#define EACH(j, i, n) for (int j = 0; j < n; j++) \\
    for (int i = 0; i < n; i++)
static int min(int a, int b) { return a < b ? a : b; }
static int byte(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
#N2P_FUNC
static unsigned char median(unsigned char p[3][3], int x, int y) {
    unsigned char s[9];
    int n = 0;
    EACH(j, i, 3) {
        int k = n++;
        for (; k > 0 && s[k - 1] > p[j][i]; k--) s[k] = s[k - 1];
        s[k] = p[j][i];
    }
    return s[4];
}
#N2P_FUNC
static unsigned char erosion(unsigned char p[3][3], int x, int y) { int m = 255; EACH(j, i, 3) m = min(m, p[j][i]); return m; }
#N2P_FUNC
static unsigned short dilation(unsigned short p[5][5], int x, int y) { int m = 0; EACH(j, i, 5) m = -min(-m, -p[j][i]); return m; }
#N2P_FUNC
static unsigned char emboss(unsigned char p[3][3], int x, int y) {
    return byte(-2 * p[0][0] - p[0][1] - p[1][0] + p[1][1] + p[1][2] + p[2][1] + 2 * p[2][2]);
}
#N2P_FUNC
static unsigned char laplacian(unsigned char p[3][3], int x, int y) {
    return byte(abs(4 * p[1][1] - p[0][1] - p[1][0] - p[1][2] - p[2][1]));
}
#N2P_FUNC
static unsigned char prewitt(unsigned char p[3][3], int x, int y) {
    int gx = 0, gy = 0;
    for (int k = 0; k < 3; k++) gx += p[k][2] - p[k][0];
    for (int k = 0; k < 3; k++) gy += p[2][k] - p[0][k];
    return byte((int)sqrt(gx * gx + gy * gy));
}
#N2P_FUNC
static unsigned char sobel(unsigned char p[3][3], int x, int y) {
    int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
    int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
    return byte((int)sqrt((double)(gx * gx + gy * gy)));
}
#N2P_FUNC
static unsigned char variance(unsigned char p[5][5], int x, int y) {
    int sum = 0, square = 0;
    EACH(j, i, 5) { sum += p[j][i]; square += p[j][i] * p[j][i]; }
    return byte((25 * square - sum * sum) / 625);
}
#STRUCT
typedef struct { int left, top; } corner;
#N2P_FUNC
static unsigned char framed(unsigned char p[3][3], int x, int y, corner c) {
    return x < c.left || y < c.top ? 0 : p[0][2];
}
"""

NUMBERS = """
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
"""

SOURCES = {"listings": LISTINGS, "points": POINTS, "windows": WINDOWS, "numbers": NUMBERS}


def write(folder, sources):
    """As burin takes them: nobody else may write to them."""
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)
    for name, text in sources.items():
        path = folder / f"{name}.c"
        path.write_text(text)
        path.chmod(0o644)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), SOURCES)
