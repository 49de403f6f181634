// SPDX-License-Identifier: Apache-2.0
// Operators that users write first: whole pixels, places, counts above a level, larger windows.
static int byte(double v) { return v < 0 ? 0 : v > 255 ? 255 : (int)(v + 0.5); }
static double luma(pixel p) { return 0.299 * p.r + 0.587 * p.g + 0.114 * p.b; }
#STRUCT
typedef struct {
    double amount; // 1.5 [0,8] how much
    int level; // 127 [0,65535] what counts lies above
} usual;
// The brown of old photographs.
#P2P_FUNC
static pixel antique(pixel p) {
    pixel q = p;
    q.r = byte(0.393 * p.r + 0.769 * p.g + 0.189 * p.b);
    q.g = byte(0.349 * p.r + 0.686 * p.g + 0.168 * p.b);
    q.b = byte(0.272 * p.r + 0.534 * p.g + 0.131 * p.b);
    return q;
}
#P2P_FUNC
static pixel vivid(pixel p, usual s) {
    double y = luma(p);
    p.r = byte(y + (p.r - y) * s.amount);
    p.g = byte(y + (p.g - y) * s.amount);
    p.b = byte(y + (p.b - y) * s.amount);
    return p;
}
// Alpha is the function's too.
#P2P_FUNC
static pixel16 swapped(pixel16 p, int x, int y, int width, int height, int channels) {
    unsigned short r = p.r;
    p.r = p.b + channels;
    p.b = r;
    p.a = x == width - 1 || y == height - 1 ? 0 : p.a - 1;
    return p;
}
static const unsigned char thresholds[2][2] = { { 32, 160 }, { 224, 96 } };
#P2P_FUNC
static unsigned char dithered(unsigned char v, int x, int y) { return v > thresholds[y % 2][x % 2] ? 255 : 0; }
#P2P_FUNC
static unsigned char marked(unsigned char v, int channel, int index, int channels) { return v + 3 * channel + index + channels; }
#P2P_FUNC
static unsigned short posterized(unsigned short v, int i) { return v / 8192 * 65535 / 7; }
#MAP
static int is_above(unsigned char v, usual s) { return v > s.level; }
#R2S_FUNC
static int bright(int a, int b) { return a + b; }
#MAP
static long long square(int v) { return (long long)v * v; }
#R2S_FUNC long long
static T squares(E a, E b) { return a + b; }
#R2S_FUNC
static unsigned char limited(unsigned char a, unsigned char b, usual s) { int m = a > b ? a : b; return m > s.level ? s.level : m; }
#N2P_FUNC
static unsigned char peak(unsigned char p[7][7], int x, int y) {
    int most = 0;
    for (int i = 0; i < 49; i++) if (p[i / 7][i % 7] > most) most = p[i / 7][i % 7];
    return most;
}
#N2P_FUNC
static unsigned short box(unsigned short p[15][15], int x, int y) {
    int sum = 0;
    for (int j = 0; j < 15; j++) for (int i = 0; i < 15; i++) sum += p[j][i];
    return sum / 225;
}
