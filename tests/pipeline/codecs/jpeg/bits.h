// SPDX-License-Identifier: Apache-2.0
/* bits.h - JPEGs whose scan is written symbol by symbol, sound or with one fault that flipping
 * bits hardly ever makes: a run past the 63rd coefficient, a DC beyond its range, wrong fill bits,
 * blocks missing or left over, restart markers missing, doubled, out of order.
 *
 * The header, with its codes, is libjpeg's; symbols are drawn from those that the codes have.
 *
 * Used by:  tests/pipeline/codecs/jpeg/parallel.c as C, tests/cuda/codecs/jpeg_copies.cu as C++.
 * Owns:     what make_bits_case returns is the caller's; free() its bytes.
 */
#ifndef BURIN_JPEG_BITS_H
#define BURIN_JPEG_BITS_H

#include "pipeline/codecs/jpeg/baseline.h"
#include "tests/pipeline/codecs/jpeg/cases.h"

enum bits_fault {
    BITS_SOUND,
    BITS_RUN,
    BITS_DC,
    BITS_FILL,
    BITS_BLOCK_LESS,
    BITS_BLOCK_MORE,
    BITS_UNSTUFFED,
    BITS_NO_END, /* of the image */
    BITS_RESTART_ORDER,
    BITS_RESTART_LESS,
    BITS_RESTART_TWICE,
    BITS_FAULTS
};

struct bits_code {
    uint16_t code[256];
    uint8_t bits[256]; /* 0: the symbol has none */
    uint8_t symbols[256];
    int count;
};

struct bits_writer {
    struct jpeg_file file;
    size_t room;
    uint32_t window, held; /* bits that make no byte yet, and how many */
    uint32_t state;        /* of chance */
    enum bits_fault fault;
    uint32_t at; /* the block, or the restart, that has the fault */
    struct jpeg_baseline header;
    struct bits_code dc[2], ac[2];
    int last_dc[3];
};

static inline uint32_t bits_chance(struct bits_writer *writer, uint32_t below) {
    return cases_random(&writer->state) % below;
}

static inline void bits_byte(struct bits_writer *writer, unsigned byte) {
    if (writer->file.length + 8 > writer->room) {
        writer->room *= 2;
        writer->file.data = (uint8_t *)realloc(writer->file.data, writer->room);
    }
    writer->file.data[writer->file.length++] = (uint8_t)byte;
}

static inline void bits_put(struct bits_writer *writer, uint32_t value, uint32_t count) {
    for (uint32_t i = count; i-- > 0;) {
        writer->window = writer->window << 1 | (value >> i & 1);
        if (++writer->held < 8) continue;
        const unsigned byte = writer->window & 0xff;
        writer->held = 0;
        bits_byte(writer, byte);
        if (byte == 0xff && (writer->fault != BITS_UNSTUFFED || bits_chance(writer, 4)))
            bits_byte(writer, 0);
    }
}

static inline void bits_fill(struct bits_writer *writer, bool wrong) {
    const uint32_t count = (8 - writer->held) % 8;
    bits_put(writer, wrong && count ? bits_chance(writer, 1u << count) : 0xff, count);
}

static inline void bits_read_code(const struct jpeg_code *from, struct bits_code *to) {
    uint32_t code = 0;
    memset(to, 0, sizeof *to);
    if (!from->counts) return;
    for (int length = 1; length <= 16; length++, code <<= 1)
        for (int i = 0; i < from->counts[length - 1]; i++, code++) {
            const uint8_t symbol = from->symbols[to->count];
            to->symbols[to->count++] = symbol;
            to->code[symbol] = (uint16_t)code;
            to->bits[symbol] = (uint8_t)length;
        }
}

static inline void bits_symbol(struct bits_writer *writer, const struct bits_code *code,
                               unsigned symbol) {
    bits_put(writer, code->code[symbol], code->bits[symbol]);
}

/* VALUE of SIZE bits as T.81 has it. */
static inline void bits_value(struct bits_writer *writer, int value, unsigned size) {
    bits_put(writer, (uint32_t)(value < 0 ? value + (1 << size) - 1 : value), size);
}

/* Towards 0 where it has come far from it, or, as a fault, ever further. */
static inline void bits_dc(struct bits_writer *writer, const struct bits_code *code, int component,
                           bool wrong) {
    unsigned size = code->symbols[bits_chance(writer, (uint32_t)code->count)];
    for (int i = 0; wrong && i < code->count; i++)
        if (code->symbols[i] > size) size = code->symbols[i];
    int *last = &writer->last_dc[component];
    if (size > 8 && !wrong) size = code->symbols[0];
    const int half = size ? 1 << (size - 1) : 0;
    const int magnitude = size ? half + (int)bits_chance(writer, (uint32_t)half) : 0;
    const bool down = wrong ? *last < 0 : *last > 500 || (*last > -500 && bits_chance(writer, 2));
    bits_symbol(writer, code, size);
    bits_value(writer, down ? -magnitude : magnitude, size);
    *last += down ? -magnitude : magnitude;
}

static inline void bits_ac(struct bits_writer *writer, const struct bits_code *code, bool wrong) {
    const uint32_t length = bits_chance(writer, 3) ? 8 : 64; /* most blocks are short */
    for (uint32_t k = 1; k < 64;) {
        const unsigned symbol = code->symbols[bits_chance(writer, (uint32_t)code->count)];
        const unsigned run = symbol >> 4, size = symbol & 15;
        const bool past = k + run > 63;
        if (symbol == 0 || (past && !wrong) || (size > 4 && bits_chance(writer, 8)) ||
            bits_chance(writer, length) == 0) {
            /* On to the end of the block: as a fault, or since this code has no other end. */
            if ((wrong && !past) || !code->bits[0]) continue;
            bits_symbol(writer, code, 0);
            return;
        }
        bits_symbol(writer, code, symbol);
        bits_put(writer, cases_random(&writer->state), size);
        k += run + 1;
    }
}

static inline void bits_block(struct bits_writer *writer, int component, uint32_t number) {
    const struct jpeg_baseline *header = &writer->header;
    const bool here = number == writer->at;
    const bool further = writer->fault == BITS_DC && number >= writer->at;
    if (here && writer->fault == BITS_BLOCK_LESS) return;
    for (int i = 0; i < (here && writer->fault == BITS_BLOCK_MORE ? 2 : 1); i++) {
        bits_dc(writer, &writer->dc[header->dc[component]], component, further);
        bits_ac(writer, &writer->ac[header->ac[component]], here && writer->fault == BITS_RUN);
    }
}

static inline void bits_restart(struct bits_writer *writer, uint32_t number) {
    const bool here = number == writer->at % 3;
    bits_fill(writer, here && writer->fault == BITS_FILL);
    memset(writer->last_dc, 0, sizeof writer->last_dc);
    if (here && writer->fault == BITS_RESTART_LESS) return;
    if (here && writer->fault == BITS_RESTART_ORDER) number += 1 + bits_chance(writer, 7);
    for (int i = 0; i < (here && writer->fault == BITS_RESTART_TWICE ? 2 : 1); i++) {
        bits_byte(writer, 0xff);
        bits_byte(writer, 0xd0 + number % 8);
    }
}

static inline void bits_scan(struct bits_writer *writer) {
    const struct jpeg_baseline *header = &writer->header;
    const uint32_t across = (header->width + 8u * header->across - 1) / (8u * header->across);
    const uint32_t down = (header->height + 8u * header->down - 1) / (8u * header->down);
    const uint32_t luma = (uint32_t)header->across * header->down;
    uint32_t block = 0, restart = 0;
    for (uint32_t mcu = 0; mcu < across * down; mcu++) {
        if (header->interval && mcu && mcu % header->interval == 0) bits_restart(writer, restart++);
        for (uint32_t i = 0; i < luma; i++) bits_block(writer, 0, block++);
        for (int c = 1; header->into.channels == 3 && c < 3; c++) bits_block(writer, c, block++);
    }
    bits_fill(writer, writer->fault == BITS_FILL && !restart);
    if (writer->fault == BITS_NO_END) return;
    bits_byte(writer, 0xff);
    bits_byte(writer, 0xd9);
}

static inline struct jpeg_file make_bits_case(uint32_t seed) {
    static const int samplings[][3] = { { 1, 1, 1 }, { 3, 1, 1 }, { 3, 2, 1 }, { 3, 2, 2 } };
    struct bits_writer writer;
    struct jpeg_case made;
    struct probe probe;
    struct failure failure;
    memset(&writer, 0, sizeof writer);
    memset(&made, 0, sizeof made);
    writer.state = seed * 2654435761u + 11;
    const int *sampling = samplings[bits_chance(&writer, 4)];
    made.channels = sampling[0], made.h = sampling[1], made.v = sampling[2];
    made.width = 1 + bits_chance(&writer, 90);
    made.height = 1 + bits_chance(&writer, 70);
    made.quality = (int)(20 + bits_chance(&writer, 80));
    made.drawing = DRAW_NOISE; /* for codes of many symbols */
    made.tables = (enum jpeg_tables)bits_chance(&writer, TABLES_ONE);
    made.interval = bits_chance(&writer, 2) ? bits_chance(&writer, 10) : 0;
    writer.fault = (enum bits_fault)bits_chance(&writer, BITS_FAULTS);
    if (bits_chance(&writer, 4) == 0) writer.fault = BITS_SOUND;
    writer.at = bits_chance(&writer, bits_chance(&writer, 2) ? 6 : 60);
    struct jpeg_file base = make_case(&made);
    if (probe_image(base.data, base.length, &codec_limits_default.probe, &probe, &failure) ||
        !jpeg_baseline_read_header(base.data, base.length, &probe, &codec_limits_default,
                                   &writer.header))
        return base;
    for (int i = 0; i < 2; i++) {
        bits_read_code(&writer.header.dc_codes[i], &writer.dc[i]);
        bits_read_code(&writer.header.ac_codes[i], &writer.ac[i]);
    }
    writer.file.length = (size_t)(writer.header.scan - base.data);
    writer.room = base.length + 4096;
    writer.file.data = (uint8_t *)malloc(writer.room);
    memcpy(writer.file.data, base.data, writer.file.length);
    bits_scan(&writer);
    free(base.data);
    return writer.file;
}

#endif
