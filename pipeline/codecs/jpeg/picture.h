// SPDX-License-Identifier: Apache-2.0
/* picture.h - one JPEG on its way through a decoder of many threads: what its header says, and
 * the memory that each step hands to the next.
 *
 * The scan's bytes lose their stuffing and markers and become one string of bits, which is cut into
 * subsequences: of JPEG_SUB_BITS, or of fewer where there are more threads than subsequences. A
 * symbol belongs to the subsequence in which its first bit lies.
 *
 * Used by:  jpeg_parallel.c, and a GPU's kernels, which see the same struct.
 * Owns:     nothing; the caller that lays out the arena owns it.
 * Fails:    jpeg_picture_init: false for a scan too long for 32-bit positions.
 * Limits:   no scan makes a step write outside the arrays below, whose lengths follow from the
 *           header and the file's length.
 */
#ifndef BURIN_JPEG_PICTURE_H
#define BURIN_JPEG_PICTURE_H

#include "pipeline/codecs/jpeg/baseline.h"
#include "pipeline/codecs/jpeg/lookup.h"
#include "pipeline/codecs/jpeg/samples.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Division of numbers below 2^31 without dividing. */
struct jpeg_divisor {
    uint32_t reciprocal; /* 0: by 1 */
    uint32_t shift;
};

HOST_DEVICE uint32_t jpeg_divide(uint32_t value, const struct jpeg_divisor *divisor) {
    if (!divisor->reciprocal) return value;
    return (uint32_t)((uint64_t)value * divisor->reciprocal >> 32) >> divisor->shift;
}

enum {
    JPEG_SUB_LOG2 = 9, /* a subsequence's bits, at most */
    JPEG_SUB_BITS = 1 << JPEG_SUB_LOG2,
    JPEG_SUB_LOG2_MIN = 7,
    JPEG_SUB_WORDS = JPEG_SUB_BITS / 32 + 2, /* and the start of the next one */
    JPEG_SHORT_SUBS = 1 << 14, /* a picture has no more of fewer bits than JPEG_SUB_BITS, */
    JPEG_SHORT_BLOCK = 100,    /* and its blocks take no more bits, on average */
    JPEG_PIECE_BYTES = 4096,   /* of the scan, unstuffed by one block of threads */
    JPEG_BITS_PADDING = 128,   /* bytes of ones behind the last bit */
    JPEG_PHASES = 6,           /* blocks of an MCU, at most */
    JPEG_GUESSES = 6,          /* a multiple of 1 and 3, so that few stay unused */
    JPEG_PHASE_LEAD = 2,       /* of hard pictures */
    JPEG_ARENA_ALIGN = 256,
    JPEG_SCAN_BYTES_MAX = 1 << 28,
};

/* Why the cores must decode it; 0: the samples are libjpeg's. */
enum jpeg_flag {
    JPEG_FLAG_MARKER = 1 << 0,   /* a marker or fill byte that does not belong into the scan */
    JPEG_FLAG_RESTARTS = 1 << 1, /* in another order or number */
    JPEG_FLAG_CODE = 1 << 2,     /* bits that are no code, or a symbol that baseline has not */
    JPEG_FLAG_RUN = 1 << 3,      /* past the block's last coefficient */
    JPEG_FLAG_BLOCKS = 1 << 4,   /* more or fewer than the frame has, or bits left over */
    JPEG_FLAG_DC = 1 << 5,       /* beyond +-2047 */
    JPEG_FLAG_SUM = 1 << 6,      /* coefficients beyond inverse.h's bound */
    JPEG_FLAG_REPAIRS = 1 << 7,  /* the subsequences did not fit together in time */
    JPEG_FLAG_PROOF = 1 << 8,    /* a subsequence ended elsewhere than its successor starts */
};

/* A block as the list of its coefficients finds it: it ends where the next one starts. */
struct jpeg_head {
    uint32_t first; /* in the list */
    int32_t dc;
};

/* Counts of a subsequence, packed: blocks begun and coefficients in 12 bits each; bit 31: a
 * restart, from which on DC differences count. */
struct jpeg_tally {
    uint32_t counts;
    uint32_t dc[JPEG_PLANES]; /* sums modulo 2^32 */
};

/* Sums of all subsequences before one. */
struct jpeg_base {
    uint32_t blocks, coefficients;
    uint32_t dc[JPEG_PLANES];
};

/* A decoding that started from a guess, some subsequences before. */
struct jpeg_candidate {
    uint32_t start, end; /* states at the subsequence's two ends */
    struct jpeg_tally tally;
};

/* Known only after decoding. */
struct jpeg_facts {
    uint32_t flags; /* enum jpeg_flag */
    uint32_t bytes; /* of the scan without stuffing and markers */
    uint32_t hard;  /* walking alone did not bring the subsequences into step */
    uint32_t repairs;
};

struct jpeg_picture {
    const uint8_t *scan; /* without the last marker */
    uint32_t scan_bytes, pieces;
    uint32_t width, height; /* as stored */
    uint32_t mcus_across, mcus;
    uint32_t interval, segments; /* MCUs of a segment, all but the last one's; how many */
    uint32_t kinds;              /* of an MCU's blocks, 4 bits each: component, DC and AC code */
    uint32_t phases;             /* blocks of an MCU */
    uint32_t guesses;            /* candidates of a subsequence: join.h */
    uint32_t guess_step;         /* bits between the places that they start from */
    uint32_t blocks;             /* of the picture */
    uint32_t sub_log2;           /* bits of a subsequence: jpeg_picture_cut */
    uint32_t lead;               /* subsequences that a candidate decodes before its own */
    uint32_t subs_max, list_max;
    uint8_t components, across, down, orientation;
    struct jpeg_divisor by_mcus_across;
    uint16_t steps[JPEG_PLANES][64]; /* zigzag order: step << 6 | 8 * row + column */
    uint8_t code_counts[4][16];      /* DC 0, 1, AC 0, 1; all 0: not there */
    uint8_t code_symbols[4][JPEG_SYMBOLS];
    uint32_t plane_stride[JPEG_PLANES];

    /* The arena, in the order of use. */
    struct jpeg_facts *facts;
    struct jpeg_lookup *lookups;       /* 4 */
    uint32_t *piece_kept;              /* bytes that each piece keeps */
    uint32_t *piece_restarts;          /* and its restart markers */
    uint8_t *bits;                     /* unstuffed */
    uint32_t *segment_ends;            /* bytes; the last one's is facts->bytes */
    uint32_t *starts, *ends;           /* states of each subsequence (walk.h) */
    uint32_t *pending[2];              /* subsequences to be decoded again, now and next */
    uint32_t *pending_starts;          /* where from */
    struct jpeg_tally *tallies;        /* of each */
    struct jpeg_candidate *candidates; /* JPEG_GUESSES of each */
    struct jpeg_base *bases;           /* before each, and one behind the last */
    struct jpeg_head *heads;           /* of each block, and one behind the last */
    uint32_t *list;                    /* coefficients: value << 6 | zigzag index */
    uint8_t *planes[JPEG_PLANES];      /* whole MCUs */
    struct image into;                 /* upright */
};

/* All but the arena. Subsequences have JPEG_SUB_BITS. */
bool jpeg_picture_init(struct jpeg_picture *picture, const struct jpeg_baseline *jpeg);
/* Bytes of its arena, which starts at a multiple of JPEG_ARENA_ALIGN. */
size_t jpeg_picture_bytes(const struct jpeg_picture *picture);
void jpeg_picture_place(struct jpeg_picture *picture, uint8_t *arena);

/* Cuts its bits into subsequences of 2^LOG2 bits, or of more, up to JPEG_SUB_BITS, where these
 * would be too many or too short. LEAD: see the struct. The arena is the same for any. */
void jpeg_picture_cut(struct jpeg_picture *picture, uint32_t log2, uint32_t lead);

HOST_DEVICE struct jpeg_planes jpeg_picture_planes(const struct jpeg_picture *picture) {
    struct jpeg_planes planes;
    for (int i = 0; i < JPEG_PLANES; i++) planes.samples[i] = picture->planes[i];
    planes.width = picture->width;
    planes.height = picture->height;
    planes.luma_stride = picture->plane_stride[0];
    planes.chroma_stride = picture->plane_stride[1];
    planes.across = picture->across;
    planes.down = picture->down;
    return planes;
}

/* Subsequences of 2^LOG2 bits in BYTES unstuffed bytes. */
HOST_DEVICE uint32_t jpeg_subs(uint32_t bytes, uint32_t log2) {
    return (8 * bytes + (1u << log2) - 1) >> log2;
}

/* Blocks before segment NUMBER, or of the picture. */
HOST_DEVICE uint32_t jpeg_blocks_before(const struct jpeg_picture *picture, uint32_t number) {
    const uint64_t mcus = (uint64_t)picture->interval * number;
    return (mcus < picture->mcus ? (uint32_t)mcus : picture->mcus) * picture->phases;
}

struct jpeg_block_place {
    uint32_t component, x, y; /* samples of its plane */
    uint32_t block;           /* of the picture's in the order of the scan */
};

/* Block NUMBER of the planes' one after the other, each row by row: neighbours write into the same
 * rows. */
HOST_DEVICE struct jpeg_block_place jpeg_block_place_of(const struct jpeg_picture *picture,
                                                        uint32_t number) {
    const uint32_t across_log2 = picture->across - 1u, down_log2 = picture->down - 1u;
    const uint32_t luma = picture->mcus << across_log2 << down_log2, mcus = picture->mcus;
    struct jpeg_block_place place;
    place.component = 0;
    if (number < luma) {
        const uint32_t row = jpeg_divide(number >> across_log2, &picture->by_mcus_across);
        const uint32_t column = number - (row * picture->mcus_across << across_log2);
        const uint32_t mcu = (row >> down_log2) * picture->mcus_across + (column >> across_log2);
        const uint32_t left = column & across_log2, upper = row & down_log2;
        place.x = 8 * column;
        place.y = 8 * row;
        place.block = mcu * picture->phases + (upper << across_log2) + left;
    } else {
        const uint32_t mcu = number - luma < mcus ? number - luma : number - luma - mcus;
        const uint32_t row = jpeg_divide(mcu, &picture->by_mcus_across);
        place.component = number - luma < mcus ? 1 : 2;
        place.x = 8 * (mcu - row * picture->mcus_across);
        place.y = 8 * row;
        place.block = mcu * picture->phases + picture->phases - 3 + place.component;
    }
    return place;
}

#ifdef __cplusplus
}
#endif
#endif
