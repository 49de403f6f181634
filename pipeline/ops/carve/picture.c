// SPDX-License-Identifier: Apache-2.0
/* How it works. A phase of one direction is replayed. For each line (a row where seams are
 * vertical, a column where they are horizontal) the seams' positions, each valid at the time its
 * seam was taken, become positions of the whole line, sorted into the end of a list; the positions
 * between them stay. Edits then copy what stays, whole runs at once, or insert pixels from the end,
 * so that nothing is overwritten before it is read. Lines are processed in blocks that fit a core's
 * cache. A phase of both directions has no such order: there the map's ids give the origin of each
 * remaining pixel. */
#include "pipeline/ops/carve/picture.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/new_pixel.h"
#include "pipeline/sample.h"

#include <string.h>

enum how {
    TAKE, /* remaining pixels, from FROM to TO; TO may lack FROM's alpha */
    IDS,  /* ids of remaining pixels, to TO of 4 bytes a pixel; FROM gives only the shape */
    MEAN, /* in TO, a new pixel is the rounded mean of its neighbours */
    COPY, /* in TO, a new pixel is a copy of the seam's */
    BLANK /* in TO, a new pixel is all ones */
};

struct edit {
    enum how how;
    struct image from, to; /* big enough; only their strides matter, not their sizes */
};

enum { EDITS_MAX = 3 };

struct replay {
    const uint16_t *seams; /* seam s crosses line l at seams[s * lines + l] */
    uint32_t count, lines, length;
    bool across; /* lines are columns */
    struct edit edits[EDITS_MAX];
    int edit_count;
    const struct image *red; /* image in which the seams' pixels become red; NULL: none */
    const struct image *ids; /* their ids; NULL: their positions are their ids */
    const struct image *map; /* 16-bit gray: seam s writes s + 1 into its pixels; NULL: none */
    uint16_t *origins;       /* carve_origins_bytes of scratch */
    struct pool *pool;
    struct progress *progress;
};

static inline void copy_pixel(uint8_t *to, const uint8_t *from, size_t bytes) {
    switch (bytes) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 3: memcpy(to, from, 3); break;
    case 4: memcpy(to, from, 4); break;
    case 6: memcpy(to, from, 6); break;
    default: memcpy(to, from, 8); break;
    }
}

enum { PIECES_MAX = 8, SLOTS_MAX = 64, PIXEL_BYTES_MAX = 8, RUN = 32, GROUP = 8, LOOK_SEAMS = 256 };

/* Origins of a block that fit a core's cache beside the pixels. */
enum { BLOCK_POSITIONS = 1 << 17 };

/* Lines FIRST to FIRST + COUNT - 1; their remaining positions stand `length` apart in `origins`. */
struct block {
    const struct replay *replay;
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

/* Returns how many of the COUNT sorted positions in GONE lie left of the pixel that is at POSITION
 * once they are gone. */
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

/* Sorts the positions that go into the end of the line's origins, then fills the origins from the
 * front with the positions between, never past what is still to be read. False: the job was
 * stopped. */
static bool find_origins(const struct block *block) {
    const struct replay *replay = block->replay;
    const uint32_t stay = replay->length - replay->count;
    for (uint32_t s = 0; s < replay->count; s++) {
        if (s % LOOK_SEAMS == 0 && progress_check(replay->progress)) return false;
        for (uint32_t line = 0; line < block->count; line++) {
            const uint32_t at = replay->seams[(size_t)s * replay->lines + block->first + line];
            uint16_t *gone = origins_of(block, line) + stay;
            const uint32_t before = gone_before(gone, s, at);
            memmove(gone + before + 1, gone + before, (s - before) * sizeof *gone);
            gone[before] = (uint16_t)(at + before);
            const uint16_t number = (uint16_t)(s + 1);
            if (replay->map)
                memcpy(pixel_at(replay->map, replay->across, block->first + line, at + before),
                       &number, sizeof number);
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

static void paint_line(const struct block *block, uint32_t line) {
    const struct replay *replay = block->replay;
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

/* Runs that stay together are copied at once; with few seams most do. */
static void take_row(const struct edit *edit, uint32_t y, const uint16_t *origins, uint32_t stay) {
    const uint8_t *from = image_row(&edit->from, y);
    uint8_t *to = image_row(&edit->to, y);
    const size_t bytes = image_pixel_bytes(&edit->to);
    for (uint32_t i = 0; i < stay;) {
        if (i + RUN <= stay && origins[i + RUN - 1] - origins[i] == RUN - 1) {
            memcpy(to + i * bytes, from + origins[i] * bytes, RUN * bytes);
            i += RUN;
            continue;
        }
        copy_pixel(to + i * bytes, from + origins[i] * bytes, bytes);
        i++;
    }
}

/* Whether COUNT lines from LINE on have the same origin at position I. */
static bool is_level(const struct block *block, uint32_t line, uint32_t count, uint32_t i) {
    const size_t length = block->replay->length;
    const uint16_t *origin = origins_of(block, line) + i;
    uint32_t differences = 0;
    for (uint32_t l = 1; l < count; l++) differences |= origin[l * length] ^ origin[0];
    return !differences;
}

/* Neighbouring columns mostly take the same row and are then copied together. */
static void take_columns(const struct edit *edit, const struct block *block, uint32_t stay) {
    const size_t bytes = image_pixel_bytes(&edit->to);
    for (uint32_t i = 0; i < stay; i++)
        for (uint32_t line = 0; line < block->count; line += GROUP) {
            const uint32_t count = block->count - line < GROUP ? block->count - line : GROUP;
            const uint32_t x = block->first + line;
            uint8_t *to = pixel_at(&edit->to, true, x, i);
            if (is_level(block, line, count, i)) {
                const uint16_t origin = origins_of(block, line)[i];
                memcpy(to, pixel_at(&edit->from, true, x, origin), count * bytes);
                continue;
            }
            for (uint32_t l = 0; l < count; l++) {
                const uint16_t origin = origins_of(block, line + l)[i];
                copy_pixel(to + l * bytes, pixel_at(&edit->from, true, x + l, origin), bytes);
            }
        }
}

static void put_ids(const struct edit *edit, bool across, uint32_t line, const uint16_t *origins,
                    uint32_t stay) {
    for (uint32_t i = 0; i < stay; i++) {
        const uint32_t x = across ? line : origins[i], y = across ? origins[i] : line;
        const uint32_t id = y * edit->from.width + x;
        memcpy(pixel_at(&edit->to, across, line, i), &id, sizeof id);
    }
}

/* ---- inserting */

static void fill(const struct edit *edit, uint8_t *to, const uint8_t *left, const uint8_t *seam,
                 const uint8_t *right) {
    const struct image *image = &edit->to;
    if (edit->how == BLANK)
        memset(to, 255, image_pixel_bytes(image));
    else if (edit->how == COPY)
        copy_pixel(to, seam, image_pixel_bytes(image));
    else
        SPECIALISE(image->channels, image->depth, carve_put_new, to, left, seam, right);
}

/* Whether the last RUN of STAY origins end just before position END, without a seam between them.
 */
static bool is_run(const uint16_t *origins, uint32_t stay, uint32_t end) {
    return stay >= RUN && origins[stay - 1] + 1u == end &&
           origins[stay - RUN] + (uint32_t)RUN == end;
}

/* Grows the line in place, from the end: writes stay right of everything still to be read, except
 * the right neighbour, which is remembered. */
static void grow_line(const struct block *block, const struct edit *edit, uint32_t line) {
    const struct replay *replay = block->replay;
    const uint32_t l = block->first + line;
    const size_t bytes = image_pixel_bytes(&edit->to);
    const uint16_t *origins = origins_of(block, line);
    uint8_t here[PIXEL_BYTES_MAX], right[PIXEL_BYTES_MAX], mean[PIXEL_BYTES_MAX];
    uint32_t stay = replay->length - replay->count, i = replay->length, end = i + replay->count;
    copy_pixel(right, pixel_at(&edit->to, replay->across, l, i - 1), bytes);
    while (end != i) {
        if (!replay->across && is_run(origins, stay, i)) {
            stay -= RUN, i -= RUN, end -= RUN;
            uint8_t *run = pixel_at(&edit->to, false, l, i);
            copy_pixel(right, run, bytes);
            memmove(run + (end - i) * bytes, run, RUN * bytes);
            continue;
        }
        i--;
        copy_pixel(here, pixel_at(&edit->to, replay->across, l, i), bytes);
        if (stay && origins[stay - 1] == i) {
            stay--;
        } else {
            const uint32_t before = i ? i - 1 : 0;
            fill(edit, mean, pixel_at(&edit->to, replay->across, l, before), here, right);
            copy_pixel(pixel_at(&edit->to, replay->across, l, --end), mean, bytes);
        }
        copy_pixel(pixel_at(&edit->to, replay->across, l, --end), here, bytes);
        copy_pixel(right, here, bytes);
    }
}

/* ---- blocks of lines */

static void edit_block(const struct block *block, const struct edit *edit) {
    const struct replay *replay = block->replay;
    const uint32_t stay = replay->length - replay->count;
    if (edit->how == TAKE && replay->across) {
        take_columns(edit, block, stay);
        return;
    }
    for (uint32_t line = 0; line < block->count; line++) {
        if (edit->how == TAKE)
            take_row(edit, block->first + line, origins_of(block, line), stay);
        else if (edit->how == IDS)
            put_ids(edit, replay->across, block->first + line, origins_of(block, line), stay);
        else
            grow_line(block, edit, line);
    }
}

static int pieces_of(const struct replay *replay) {
    const uint32_t threads = (uint32_t)pool_threads(replay->pool);
    const uint32_t most = threads < PIECES_MAX ? threads : PIECES_MAX;
    return (int)(most < replay->lines ? most : replay->lines);
}

static void replay_piece(void *argument, int index) {
    const struct replay *replay = argument;
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
        /* Painting comes first, because an edit may move the ids. */
        for (uint32_t l = 0; replay->red && l < block.count; l++) paint_line(&block, l);
        for (int e = 0; e < replay->edit_count; e++) edit_block(&block, &replay->edits[e]);
    }
}

static enum status replay_lines(const struct replay *replay) {
    pool_run(replay->pool, replay_piece, (void *)replay, pieces_of(replay));
    return progress_check(replay->progress);
}

/* ---- the picture, phase by phase */

const struct image *carve_picture(const struct carve_context *context) {
    return context->drawn ? &context->work : &context->call->out;
}

/* Before a first phase that grows: copies pixels, marks and ids to where they grow. */
static void settle_rows(const struct carve_context *context, const struct energy_map *map,
                        uint32_t first, uint32_t end) {
    (void)map;
    const struct image *in = &context->call->in, *to = carve_picture(context);
    for (uint32_t y = first; y < end; y++) {
        if (to->pixels) memcpy(image_row(to, y), image_row(in, y), image_row_bytes(in));
        for (uint32_t x = 0; context->later_marks.pixels && x < in->width; x++)
            image_row(&context->later_marks, y)[x] = (uint8_t)carve_mark_at(context, x, y);
        for (uint32_t x = 0; context->later_ids.pixels && x < in->width; x++) {
            const uint32_t id = y * in->width + x;
            memcpy(image_row(&context->later_ids, y) + x * sizeof id, &id, sizeof id);
        }
    }
}

/* After a first phase that shrinks: keeps the remaining marks. */
static void settle_marks(const struct carve_context *context, const struct energy_map *map,
                         uint32_t first, uint32_t end) {
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < map->width; x++) {
            const uint8_t mark = (uint8_t)(energy_map_energy(map, y)[x] / energy_map_mark(map));
            image_row(&context->later_marks, map->turned ? x : y)[map->turned ? y : x] = mark;
        }
}

static bool is_id_run(const uint32_t *ids, uint32_t count) {
    uint32_t differences = 0;
    for (uint32_t i = 0; i < count; i++) differences |= ids[i] ^ (ids[0] + i);
    return !differences;
}

/* After a phase of both directions: copies to `out` the pixels whose ids remain, mostly in runs. */
static void gather(const struct carve_context *context, const struct energy_map *map,
                   uint32_t first, uint32_t end) {
    const struct image *in = &context->call->in;
    const size_t bytes = image_pixel_bytes(in);
    for (uint32_t y = first; y < end; y++) {
        const uint32_t *ids = energy_map_ids(map, y);
        uint8_t *to = image_row(&context->call->out, y);
        for (uint32_t x = 0; x < map->width;) {
            const uint8_t *from = image_row(in, ids[x] / in->width) + ids[x] % in->width * bytes;
            if (x + RUN <= map->width && is_id_run(ids + x, RUN)) {
                memcpy(to + x * bytes, from, RUN * bytes);
                x += RUN;
            } else {
                copy_pixel(to + x * bytes, from, bytes);
                x++;
            }
        }
    }
}

static void add_edit(struct replay *replay, enum how how, const struct image *from,
                     const struct image *to) {
    if (to->pixels) replay->edits[replay->edit_count++] = (struct edit){ how, *from, *to };
}

static enum status replay_seams(struct carve_context *context, const struct carve_phase *phase) {
    const bool across = phase->rows > 0;
    struct replay seams = {
        .seams = context->seams,
        .count = across ? phase->rows : phase->columns,
        .lines = across ? context->now.width : context->now.height,
        .length = across ? context->now.height : context->now.width,
        .across = across,
        .red = context->drawn ? &context->call->out : NULL,
        .ids = context->ids.pixels ? &context->ids : NULL,
        .map = context->mapped ? &context->call->out : NULL,
        .origins = context->origins,
        .pool = context->call->pool,
        .progress = context->call->progress,
    };
    const struct image *to = carve_picture(context);
    if (context->mapped) return replay_lines(&seams);
    add_edit(&seams, phase->grow ? MEAN : TAKE, &context->now, to);
    add_edit(&seams, phase->grow ? BLANK : IDS, &context->call->in, &context->later_ids);
    if (phase->grow) add_edit(&seams, COPY, &context->now, &context->later_marks);
    return replay_lines(&seams);
}

static void clear_rows(const struct carve_context *context, const struct energy_map *map,
                       uint32_t first, uint32_t end) {
    (void)map;
    const struct image *out = &context->call->out;
    for (uint32_t y = first; y < end; y++) memset(image_row(out, y), 0, image_row_bytes(out));
}

enum status carve_picture_change(struct carve_context *context, const struct carve_phase *phase) {
    const struct energy_map *map = phase->columns ? &context->upright : &context->turned;
    enum status status = STATUS_OK;
    if (context->mapped) {
        status = carve_rows(context, NULL, context->call->out.height, clear_rows);
        return status ? status : replay_seams(context, phase);
    }
    if (carve_phase_is_both(phase))
        return context->drawn ? STATUS_OK : carve_rows(context, map, map->height, gather);
    if (phase->grow && context->now.pixels == context->call->in.pixels)
        status = carve_rows(context, NULL, context->now.height, settle_rows);
    if (!phase->grow && context->later_marks.pixels)
        status = carve_rows(context, map, map->height, settle_marks);
    return status ? status : replay_seams(context, phase);
}

enum status carve_picture_copy(const struct carve_context *context) {
    return carve_rows(context, NULL, context->now.height,
                      context->mapped ? clear_rows : settle_rows);
}
