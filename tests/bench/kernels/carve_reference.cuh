// SPDX-License-Identifier: Apache-2.0
/* carve_reference.cuh - pictures, and the plain way to carve them on the host, for comparison.
 *
 * Written from pipeline/ops/carve/definition.h alone: the whole energy and both tables anew for
 * every seam.
 */
#ifndef BURIN_CARVE_REFERENCE_CUH
#define BURIN_CARVE_REFERENCE_CUH

#include "tests/bench/kernels/measure.cuh"

#include <cmath>

enum picture_kind { PHOTO, NOISE, CONSTANT, PICTURE_KINDS };
static const char *const kind_names[] = { "photo", "noise", "constant" };

static uint8_t painted(picture_kind kind, uint32_t x, uint32_t y) {
    const uint32_t noise = hash(x + 65537 * y);
    if (kind == NOISE) return (uint8_t)noise;
    if (kind == CONSTANT) return 100;
    const float wave = 120 + 60 * sinf(x / 310.f) + 45 * cosf(y / 190.f);
    const bool edge = (x / 97 + y / 61) % 5 == 0;
    return (uint8_t)(wave * (edge ? 0.7f : 1.f) + (float)(noise % 8));
}

template <class Work> static void for_rows(uint32_t rows, const Work &work) {
    in_parallel(rows, [&](unsigned, uint64_t from, uint64_t to) {
        for (uint64_t y = from; y < to; y++) work((uint32_t)y);
    });
}

static std::vector<uint8_t> paint(picture_kind kind, uint32_t width, uint32_t height,
                                  uint32_t stride) {
    std::vector<uint8_t> luma((size_t)stride * height);
    for_rows(height, [&](uint32_t y) {
        for (uint32_t x = 0; x < width; x++) luma[(size_t)y * stride + x] = painted(kind, x, y);
    });
    return luma;
}

/* ---- carving */

struct plain {
    int width, height, stride, energy;
    uint8_t *luma;
    std::vector<uint32_t> energies, costs;

    int at(int x, int y) const {
        x = std::clamp(x, 0, width - 1), y = std::clamp(y, 0, height - 1);
        return luma[(size_t)y * stride + x];
    }
};

static uint32_t plain_sobel(const plain &image, int x, int y, int reach) {
    static const int smooth[2][5] = { { 0, 1, 2, 1, 0 }, { 1, 4, 6, 4, 1 } };
    static const int slope[2][5] = { { 0, -1, 0, 1, 0 }, { -1, -2, 0, 2, 1 } };
    int gx = 0, gy = 0;
    for (int dy = -reach; dy <= reach; dy++)
        for (int dx = -reach; dx <= reach; dx++) {
            const int value = image.at(x + dx, y + dy);
            gx += value * smooth[reach - 1][dy + 2] * slope[reach - 1][dx + 2];
            gy += value * smooth[reach - 1][dx + 2] * slope[reach - 1][dy + 2];
        }
    return (uint32_t)std::floor(std::sqrt((double)gx * gx + (double)gy * gy));
}

static uint32_t plain_energy(const plain &image, int x, int y) {
    if (image.energy != CARVE_GRADIENT)
        return plain_sobel(image, x, y, image.energy == CARVE_SOBEL5 ? 2 : 1);
    const int here = image.at(x, y);
    return (uint32_t)(std::abs(here - image.at(x + 1, y)) + std::abs(here - image.at(x, y + 1)) +
                      (46341 * std::abs(here - image.at(x + 1, y + 1)) >> 16));
}

/* The column of the least of three in row Y; of equal ones the smallest column. */
static int plain_least(const plain &image, int x, int y) {
    const uint32_t *row = image.costs.data() + (size_t)y * image.stride;
    int best = std::max(0, x - 1);
    for (int k = best + 1; k <= std::min(image.width - 1, x + 1); k++)
        if (row[k] < row[best]) best = k;
    return best;
}

/* Rows FROM, FROM + BY... COUNT of them, each on the one before. */
static void plain_table(plain &image, int from, int by, int count) {
    for (int i = 0, y = from; i < count; i++, y += by)
        for (int x = 0; x < image.width; x++) {
            const size_t to = (size_t)y * image.stride + x;
            image.costs[to] = image.energies[to];
            if (i) {
                const uint32_t *row = image.costs.data() + (size_t)(y - by) * image.stride;
                uint32_t least = row[x];
                if (x) least = std::min(least, row[x - 1]);
                if (x + 1 < image.width) least = std::min(least, row[x + 1]);
                image.costs[to] += least;
            }
        }
}

static void plain_seam(plain &image, uint16_t *columns) {
    const int middle = (image.height - 1) / 2, height = image.height;
    for_rows((uint32_t)height, [&](uint32_t y) {
        for (int x = 0; x < image.width; x++)
            image.energies[(size_t)y * image.stride + x] = plain_energy(image, x, (int)y);
    });
    std::thread upper([&] { plain_table(image, 0, 1, middle + 1); });
    plain_table(image, height - 1, -1, height - 1 - middle);
    upper.join();
    const uint32_t *row = image.costs.data() + (size_t)middle * image.stride;
    uint32_t least = UINT32_MAX;
    for (int x = 0; x < image.width; x++) {
        uint32_t sum = row[x];
        if (middle + 1 < height) sum += row[image.stride + plain_least(image, x, middle + 1)];
        if (sum < least) least = sum, columns[middle] = (uint16_t)x;
    }
    for (int y = middle; y > 0; y--)
        columns[y - 1] = (uint16_t)plain_least(image, columns[y], y - 1);
    for (int y = middle; y + 1 < height; y++)
        columns[y + 1] = (uint16_t)plain_least(image, columns[y], y + 1);
}

/* Seams of LUMA, which becomes the smaller image. */
[[maybe_unused]] static std::vector<uint16_t> plain_carve(std::vector<uint8_t> &luma,
                                                          uint32_t width, uint32_t height,
                                                          uint32_t stride, int energy,
                                                          uint32_t seams) {
    std::vector<uint16_t> columns((size_t)seams * height);
    plain image = { (int)width, (int)height, (int)stride, energy, luma.data(), {}, {} };
    image.energies.resize(luma.size()), image.costs.resize(luma.size());
    for (uint32_t s = 0; s < seams; s++, image.width--) {
        uint16_t *seam = columns.data() + (size_t)s * height;
        plain_seam(image, seam);
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *row = luma.data() + (size_t)y * stride;
            std::copy(row + seam[y] + 1, row + image.width, row + seam[y]);
        }
    }
    return columns;
}

#endif
