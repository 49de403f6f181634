// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/resize/light.h"

#include <math.h>
#include <pthread.h>

static struct light_tables tables;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double light_of(double sample) {
    return sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4);
}

static double sample_of(double light) {
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

static uint32_t level(double part, uint32_t most) {
    return (uint32_t)floor(part * most + 0.5);
}

static void make(void) {
    for (uint32_t i = 0; i < 256; i++) tables.of_8[i] = (uint16_t)level(light_of(i / 255.0), 65535);
    for (uint32_t i = 0; i < LIGHT_LEVELS; i++) {
        const double part = i / 65535.0, sample = sample_of(part);
        tables.of_16[i] = (uint16_t)level(light_of(part), 65535);
        tables.to_8[i] = (uint8_t)level(sample, 255);
        tables.to_16[i] = (uint16_t)level(sample, 65535);
    }
}

const struct light_tables *light_tables(void) {
    pthread_once(&once, make);
    return &tables;
}
