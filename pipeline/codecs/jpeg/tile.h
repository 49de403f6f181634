// SPDX-License-Identifier: Apache-2.0
/* tile.h - a JPEG cut into tiles of 192 blocks, each of which is coded by itself: which block
 * is whose, which pixels a tile needs, and from which DC each difference is taken.
 *
 * A tile is 32 MCUs of 4:2:0, 64 of 4:4:4 or 192 of gray, one after another as the file has them,
 * over the ends of rows. One worker a block: those of one component stand together. Pixels are
 * taken in strips of 8, two rows high where chroma has half the rows, also those of the MCU before
 * the tile: its DCs are sums of samples, so the tile needs no other tile's result.
 * Beyond the right edge the last pixel goes on, beyond the lower one the last row; the last row of
 * halved chroma goes on as it is, which is not the same where the height is even. Blocks of luma
 * that only fill an MCU have no coefficients but the DC of the block before.
 *
 * Used by:  jpeg_tiles.c, cuda/codecs/.
 * Source:   jccoefct.c, jcprepct.c and jcsample.c of libjpeg-turbo.
 */
#ifndef BURIN_JPEG_TILE_H
#define BURIN_JPEG_TILE_H

#include "pipeline/codecs/jpeg/zigzag.h"
#include "pipeline/host_device.h"

#include <stdbool.h>

enum jpeg_sampling { JPEG_GRAY, JPEG_444, JPEG_420 };

enum {
    JPEG_TILE_BLOCKS = 192,
    JPEG_MCU_BLOCKS_MAX = 6,
    /* with the MCU before the tile, whose slots come last */
    JPEG_TILE_SLOTS = JPEG_TILE_BLOCKS + JPEG_MCU_BLOCKS_MAX
};

struct jpeg_frame {
    uint32_t width, height;
    uint32_t mcus_across, mcus_down;
    uint8_t sampling;
};

HOST_DEVICE uint32_t jpeg_mcu_blocks(uint32_t sampling) {
    return sampling == JPEG_GRAY ? 1 : sampling == JPEG_444 ? 3 : 6;
}

HOST_DEVICE uint32_t jpeg_tile_mcus(uint32_t sampling) {
    return sampling == JPEG_GRAY ? 192 : sampling == JPEG_444 ? 64 : 32;
}

HOST_DEVICE struct jpeg_frame jpeg_frame_of(uint32_t width, uint32_t height, uint32_t sampling) {
    const uint32_t side = sampling == JPEG_420 ? 16 : 8;
    struct jpeg_frame frame;
    frame.width = width;
    frame.height = height;
    frame.mcus_across = (width + side - 1) / side;
    frame.mcus_down = (height + side - 1) / side;
    frame.sampling = (uint8_t)sampling;
    return frame;
}

/* Below 2^26 for sides of 65,500. */
HOST_DEVICE uint32_t jpeg_frame_mcus(const struct jpeg_frame *frame) {
    return frame->mcus_across * frame->mcus_down;
}

HOST_DEVICE uint32_t jpeg_frame_tiles(const struct jpeg_frame *frame) {
    const uint32_t each = jpeg_tile_mcus(frame->sampling);
    return (jpeg_frame_mcus(frame) + each - 1) / each;
}

/* ---- blocks */

struct jpeg_block {
    uint32_t mcu;    /* of the tile */
    uint32_t within; /* its number in the MCU, as the file has it */
};

/* The block of worker 0..191. */
HOST_DEVICE struct jpeg_block jpeg_block_of(uint32_t sampling, uint32_t worker) {
    struct jpeg_block block;
    if (sampling == JPEG_420 && worker < 128) {
        block.mcu = worker / 4;
        block.within = worker % 4;
    } else if (sampling == JPEG_420) {
        block.mcu = worker % 32;
        block.within = worker / 32; /* 4 and 5 */
    } else if (sampling == JPEG_444) {
        block.mcu = worker % 64;
        block.within = worker / 64;
    } else {
        block.mcu = worker;
        block.within = 0;
    }
    return block;
}

/* The worker of it, whose slot holds its samples; of the MCU before the tile, which is -1, a slot
 * behind all workers. */
HOST_DEVICE uint32_t jpeg_slot_of(uint32_t sampling, int32_t mcu, uint32_t within) {
    if (mcu < 0) return JPEG_TILE_BLOCKS + within;
    if (sampling == JPEG_420)
        return within < 4 ? 4 * (uint32_t)mcu + within : 32 * within + (uint32_t)mcu;
    return sampling == JPEG_444 ? 64 * within + (uint32_t)mcu : (uint32_t)mcu;
}

/* Whether the luma blocks on the right of MCU (COLUMN, ..) only fill it. */
HOST_DEVICE bool jpeg_right_fills(const struct jpeg_frame *frame, uint32_t column) {
    return (2 * column + 1) * 8 >= frame->width;
}

HOST_DEVICE bool jpeg_lower_fills(const struct jpeg_frame *frame, uint32_t row) {
    return (2 * row + 1) * 8 >= frame->height;
}

HOST_DEVICE bool jpeg_block_fills(const struct jpeg_frame *frame, uint32_t column, uint32_t row,
                                  uint32_t within) {
    if (frame->sampling != JPEG_420 || within >= 4) return false;
    return (within & 1 && jpeg_right_fills(frame, column)) ||
           (within & 2 && jpeg_lower_fills(frame, row));
}

/* The last luma block of an MCU of 4:2:0 that is not padding. */
HOST_DEVICE uint32_t jpeg_last_luma(const struct jpeg_frame *frame, uint32_t column, uint32_t row) {
    return (jpeg_lower_fills(frame, row) ? 0 : 2) + (jpeg_right_fills(frame, column) ? 0 : 1);
}

/* The block from whose DC the difference is taken: in the same MCU, or in the one before. */
struct jpeg_predecessor {
    bool same_mcu;
    uint32_t within;
};

/* For block WITHIN of the MCU (COLUMN, ROW), which is not padding. */
HOST_DEVICE struct jpeg_predecessor jpeg_predecessor_of(const struct jpeg_frame *frame,
                                                        uint32_t column, uint32_t row,
                                                        uint32_t within) {
    struct jpeg_predecessor before;
    before.same_mcu = false;
    before.within = within;
    if (frame->sampling != JPEG_420 || within >= 4) return before;
    before.same_mcu = within > 0;
    if (within == 2)
        before.within = jpeg_right_fills(frame, column) ? 0 : 1;
    else if (within)
        before.within = within - 1;
    else if (column)
        before.within = jpeg_last_luma(frame, column - 1, row);
    else if (row)
        before.within = jpeg_last_luma(frame, frame->mcus_across - 1, row - 1);
    return before;
}

/* ---- strips */

/* Eight pixels of one row, or of two that share their chroma. */
struct jpeg_strip {
    int32_t mcu;           /* of the tile; -1: the one before */
    uint32_t half;         /* 4:2:0: 0 left, 1 right */
    uint32_t line;         /* 0..7, of rows or pairs of rows */
    uint32_t x;            /* may be beyond the right edge */
    uint32_t above, below; /* rows, inside the picture; the same where there is one */
    bool lower_twice;      /* both rows of luma are the lower one */
};

/* Strips of a tile and of the MCU before it. */
HOST_DEVICE uint32_t jpeg_tile_strips(uint32_t sampling) {
    return (jpeg_tile_mcus(sampling) + 1) * (sampling == JPEG_420 ? 16 : 8);
}

/* Strip NUMBER: neighbours in a row follow one another. COLUMN and ROW of the MCU are left to the
 * caller, jpeg_strip_place does the rest. */
HOST_DEVICE struct jpeg_strip jpeg_strip_of(uint32_t sampling, uint32_t number) {
    const uint32_t across = jpeg_tile_mcus(sampling) + 1, halves = sampling == JPEG_420 ? 2 : 1;
    struct jpeg_strip strip;
    const uint32_t in_line = number % (across * halves);
    strip.line = number / (across * halves);
    strip.mcu = (int32_t)(in_line / halves) - 1;
    strip.half = in_line % halves;
    strip.x = strip.above = strip.below = 0;
    strip.lower_twice = false;
    return strip;
}

HOST_DEVICE uint32_t jpeg_lesser(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

HOST_DEVICE void jpeg_strip_place(struct jpeg_strip *strip, const struct jpeg_frame *frame,
                                  uint32_t column, uint32_t row) {
    const uint32_t line = 8 * row + strip->line, last = frame->height - 1;
    if (frame->sampling == JPEG_420) {
        const uint32_t pair = jpeg_lesser(line, last / 2);
        strip->x = 16 * column + 8 * strip->half;
        strip->above = 2 * pair;
        strip->below = jpeg_lesser(2 * pair + 1, last);
        strip->lower_twice = line > pair;
    } else {
        strip->x = 8 * column;
        strip->above = strip->below = jpeg_lesser(line, last);
    }
}

/* The MCU's block that a strip of 4:2:0 has luma in, and the first row there. */
HOST_DEVICE uint32_t jpeg_strip_luma(const struct jpeg_strip *strip) {
    return strip->half + (strip->line & 4) / 2;
}

HOST_DEVICE uint32_t jpeg_strip_luma_row(const struct jpeg_strip *strip) {
    return 2 * strip->line & 7;
}

#endif
