// SPDX-License-Identifier: Apache-2.0
/* How it works. Of each line the seams' positions, told at the time each was taken, are turned
 * into positions of the whole line and sorted into the end of a list; what lies between them is
 * what stays. Edits then copy what stays, runs at once, or insert from the end so that nothing is
 * overwritten before it is read. Lines go in blocks that a core's cache holds. */
#include "pipeline/ops/carve/replay.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/sample.h"

#include <string.h>

enum { PIECES_MAX = 8, SLOTS_MAX = 64, PIXEL_BYTES_MAX = 8, RUN = 32, GROUP = 8, LOOK_SEAMS = 256 };

/* Origins of a block that a core's cache holds beside the pixels. */
enum { BLOCK_POSITIONS = 1 << 17 };

/* Lines FIRST to FIRST + COUNT - 1; positions that stay stand `length` apart in `origins`. */
struct block {
    const struct carve_replay *replay;
    uint32_t first, count;
    uint16_t *origins;
};

size_t carve_origins_bytes(uint32_t lines, uint32_t length) {
    return (size_t)(lines < SLOTS_MAX ? lines : SLOTS_MAX) * length * sizeof(uint16_t);
}

static inline uint8_t *pixel_at(const struct image *image, bool across, uint32_t line,
                                uint32_t position) {
    const uint32_t x = across ? line : position, y = across ? position : line;
    return image_row(image, y) + x * image_pixel_bytes(image);
}

void carve_paint(const struct image *red, uint32_t id) {
    if (id == CARVE_NEW) return;
    uint8_t *row = image_row(red, id / red->width);
    const size_t at = (size_t)(id % red->width) * red->channels;
    sample_put(row, at, red->depth, image_max(red));
    sample_put(row, at + 1, red->depth, 0);
    sample_put(row, at + 2, red->depth, 0);
}

/* ---- which pixels stay */

static uint16_t *origins_of(const struct block *block, uint32_t line) {
    return block->origins + (size_t)line * block->replay->length;
}

/* How many of the COUNT sorted positions in GONE are left of the one that is at POSITION once they
 * are gone. */
static uint32_t gone_before(const uint16_t *gone, uint32_t count, uint32_t position) {
    uint32_t first = 0;
    while (count) {
        const uint32_t half = count / 2, middle = first + half;
        const bool before = gone[middle] - middle <= position;
        first = before ? middle + 1 : first;
        count = before ? count - half - 1 : half;
    }
    return first;
}

static void number_position(const struct block *block, uint32_t line, uint32_t position,
                            uint32_t number) {
    const struct carve_replay *replay = block->replay;
    const uint16_t sample = (uint16_t)number;
    if (replay->map)
        memcpy(pixel_at(replay->map, replay->across, block->first + line, position), &sample,
               sizeof sample);
}

/* The positions that go are sorted into the end of the line's origins; what is between them then
 * fills it from the front, never past what is still to be read. False: nobody wants it any more. */
static bool find_origins(const struct block *block) {
    const struct carve_replay *replay = block->replay;
    const uint32_t stay = replay->length - replay->count;
    for (uint32_t s = 0; s < replay->count; s++) {
        if (s % LOOK_SEAMS == 0 && progress_check(replay->progress)) return false;
        for (uint32_t line = 0; line < block->count; line++) {
            const uint32_t at = replay->seams[(size_t)s * replay->lines + block->first + line];
            uint16_t *gone = origins_of(block, line) + stay;
            const uint32_t before = gone_before(gone, s, at);
            memmove(gone + before + 1, gone + before, (s - before) * sizeof *gone);
            gone[before] = (uint16_t)(at + before);
            number_position(block, line, at + before, s + 1);
        }
    }
    for (uint32_t line = 0; line < block->count; line++) {
        uint16_t *origins = origins_of(block, line);
        const uint16_t *gone = origins + stay;
        uint32_t position = 0, i = 0;
        for (uint32_t g = 0; g < replay->count; g++, position++)
            while (position < gone[g]) origins[i++] = (uint16_t)position++;
        while (i < stay) origins[i++] = (uint16_t)position++;
    }
    return true;
}

/* Positions that are no origin. */
static void paint_line(const struct block *block, uint32_t line) {
    const struct carve_replay *replay = block->replay;
    const uint16_t *origins = origins_of(block, line);
    const uint32_t stay = replay->length - replay->count, l = block->first + line;
    for (uint32_t i = 0, next = 0; i < replay->length; i++) {
        if (next < stay && origins[next] == i) {
            next++;
            continue;
        }
        uint32_t id = replay->across ? i * replay->red->width + l : l * replay->red->width + i;
        if (replay->ids) memcpy(&id, pixel_at(replay->ids, replay->across, l, i), sizeof id);
        carve_paint(replay->red, id);
    }
}

/* ---- taking what stays */

/* Runs that stay together are copied as such: most are, where few seams go. */
static void take_row(const struct carve_edit *edit, uint32_t y, const uint16_t *origins,
                     uint32_t stay) {
    const uint8_t *from = image_row(&edit->from, y);
    uint8_t *to = image_row(&edit->to, y);
    const size_t step = image_pixel_bytes(&edit->from), bytes = image_pixel_bytes(&edit->to);
    for (uint32_t i = 0; i < stay;) {
        if (step == bytes && i + RUN <= stay && origins[i + RUN - 1] - origins[i] == RUN - 1) {
            memcpy(to + i * bytes, from + origins[i] * bytes, RUN * bytes);
            i += RUN;
            continue;
        }
        carve_copy_pixel(to + i * bytes, from + origins[i] * step, bytes);
        i++;
    }
}

/* Do COUNT lines from LINE on have the same origin at position I? */
static bool is_level(const struct block *block, uint32_t line, uint32_t count, uint32_t i) {
    const size_t length = block->replay->length;
    const uint16_t *origin = origins_of(block, line) + i;
    uint32_t differences = 0;
    for (uint32_t l = 1; l < count; l++) differences |= origin[l * length] ^ origin[0];
    return !differences;
}

/* Neighbouring columns mostly take the same row: there they are copied as one. */
static void take_columns(const struct carve_edit *edit, const struct block *block, uint32_t stay) {
    const size_t step = image_pixel_bytes(&edit->from), bytes = image_pixel_bytes(&edit->to);
    for (uint32_t i = 0; i < stay; i++)
        for (uint32_t line = 0; line < block->count; line += GROUP) {
            const uint32_t count = block->count - line < GROUP ? block->count - line : GROUP;
            const uint32_t x = block->first + line;
            uint8_t *to = pixel_at(&edit->to, true, x, i);
            if (step == bytes && is_level(block, line, count, i)) {
                const uint16_t origin = origins_of(block, line)[i];
                memcpy(to, pixel_at(&edit->from, true, x, origin), count * bytes);
                continue;
            }
            for (uint32_t l = 0; l < count; l++) {
                const uint16_t origin = origins_of(block, line + l)[i];
                carve_copy_pixel(to + l * bytes, pixel_at(&edit->from, true, x + l, origin), bytes);
            }
        }
}

static void tell_line(const struct carve_edit *edit, bool across, uint32_t line,
                      const uint16_t *origins, uint32_t stay) {
    for (uint32_t i = 0; i < stay; i++) {
        const uint32_t x = across ? line : origins[i], y = across ? origins[i] : line;
        const uint32_t id = y * edit->from.width + x;
        memcpy(pixel_at(&edit->to, across, line, i), &id, sizeof id);
    }
}

/* ---- inserting */

static void fill(const struct carve_edit *edit, uint8_t *to, const uint8_t *left,
                 const uint8_t *seam, const uint8_t *right) {
    const struct image *image = &edit->to;
    if (edit->how == CARVE_BLANK)
        memset(to, 255, image_pixel_bytes(image));
    else if (edit->how == CARVE_COPY)
        carve_copy_pixel(to, seam, image_pixel_bytes(image));
    else
        for (unsigned c = 0; c < image->channels; c++)
            sample_put(to, c, image->depth,
                       carve_mean(sample_get(left, c, image->depth),
                                  sample_get(seam, c, image->depth),
                                  sample_get(right, c, image->depth)));
}

/* Do the last RUN of STAY origins end in front of position END without a seam between them? */
static bool is_run(const uint16_t *origins, uint32_t stay, uint32_t end) {
    return stay >= RUN && origins[stay - 1] + 1u == end &&
           origins[stay - RUN] + (uint32_t)RUN == end;
}

/* From the end, in place: what is written stands right of everything still to be read, but for the
 * right neighbour, which is remembered. */
static void grow_line(const struct block *block, const struct carve_edit *edit, uint32_t line) {
    const struct carve_replay *replay = block->replay;
    const uint32_t l = block->first + line;
    const size_t bytes = image_pixel_bytes(&edit->to);
    const uint16_t *origins = origins_of(block, line);
    uint8_t here[PIXEL_BYTES_MAX], right[PIXEL_BYTES_MAX], mean[PIXEL_BYTES_MAX];
    uint32_t stay = replay->length - replay->count, i = replay->length, end = i + replay->count;
    carve_copy_pixel(right, pixel_at(&edit->to, replay->across, l, i - 1), bytes);
    while (end != i) {
        if (!replay->across && is_run(origins, stay, i)) {
            stay -= RUN, i -= RUN, end -= RUN;
            uint8_t *run = pixel_at(&edit->to, false, l, i);
            carve_copy_pixel(right, run, bytes);
            memmove(run + (end - i) * bytes, run, RUN * bytes);
            continue;
        }
        i--;
        carve_copy_pixel(here, pixel_at(&edit->to, replay->across, l, i), bytes);
        if (stay && origins[stay - 1] == i) {
            stay--;
        } else {
            const uint32_t before = i ? i - 1 : 0;
            fill(edit, mean, pixel_at(&edit->to, replay->across, l, before), here, right);
            carve_copy_pixel(pixel_at(&edit->to, replay->across, l, --end), mean, bytes);
        }
        carve_copy_pixel(pixel_at(&edit->to, replay->across, l, --end), here, bytes);
        carve_copy_pixel(right, here, bytes);
    }
}

/* ---- blocks of lines */

static void edit_block(const struct block *block, const struct carve_edit *edit) {
    const struct carve_replay *replay = block->replay;
    const uint32_t stay = replay->length - replay->count;
    if (edit->how == CARVE_TAKE && replay->across) {
        take_columns(edit, block, stay);
        return;
    }
    for (uint32_t line = 0; line < block->count; line++) {
        if (edit->how == CARVE_TAKE)
            take_row(edit, block->first + line, origins_of(block, line), stay);
        else if (edit->how == CARVE_TELL)
            tell_line(edit, replay->across, block->first + line, origins_of(block, line), stay);
        else
            grow_line(block, edit, line);
    }
}

static int pieces_of(const struct carve_replay *replay) {
    const uint32_t threads = (uint32_t)pool_threads(replay->pool);
    const uint32_t most = threads < PIECES_MAX ? threads : PIECES_MAX;
    return (int)(most < replay->lines ? most : replay->lines);
}

static void replay_piece(void *argument, int index) {
    const struct carve_replay *replay = argument;
    const int count = pieces_of(replay);
    const struct band band = band_of(replay->lines, index, count);
    const struct band slots =
        band_of(replay->lines < SLOTS_MAX ? replay->lines : SLOTS_MAX, index, count);
    const uint32_t fit = BLOCK_POSITIONS / replay->length;
    uint32_t most = slots.end - slots.first;
    if (most > fit && most > GROUP) most = fit > GROUP ? fit : GROUP;
    for (uint32_t line = band.first; line < band.end; line += most) {
        const struct block block = {
            .replay = replay,
            .first = line,
            .count = band.end - line < most ? band.end - line : most,
            .origins = replay->origins + (size_t)slots.first * replay->length,
        };
        if (!find_origins(&block)) return;
        /* What is painted is told by ids that an edit may move. */
        for (uint32_t l = 0; replay->red && l < block.count; l++) paint_line(&block, l);
        for (int e = 0; e < replay->edit_count; e++) edit_block(&block, &replay->edits[e]);
    }
}

enum status carve_replay(const struct carve_replay *replay) {
    pool_run(replay->pool, replay_piece, (void *)replay, pieces_of(replay));
    return progress_check(replay->progress);
}
