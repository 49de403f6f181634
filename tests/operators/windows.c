// SPDX-License-Identifier: Apache-2.0
// A sample from those around it, 3x3 and 5x5.
#include <stdlib.h>
#define EACH(j, i, n) for (int j = 0; j < n; j++) \
    for (int i = 0; i < n; i++)
static int min(int a, int b) { return a < b ? a : b; }
static int byte(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
#N2P_FUNC
static unsigned char middle(unsigned char p[3][3], int x, int y) {
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
