// SPDX-License-Identifier: Apache-2.0
/* How it works. A seam takes a few sections of work that the team shares. Two threads pass over the
 * halves of each map towards the middle, and close up the seam before on their way; a larger team
 * closes up tiles of columns first, and then sweeps them (tiles.h). Where the halves meet
 * the seam is known; each half traces its way back. With two maps the other one is then cut
 * crosswise. Stored energies are recomputed where the seam is in reach: a pixel's window has
 * `reach` columns to each side and `reach` rows above and below, in which the seam moves by as much
 * again, so 2 * reach columns left of the seam and as many from it on. */
#include "pipeline/ops/carve/seam_search.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/column_shift.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/carve/picture.h"
#include "pipeline/ops/carve/team.h"
#include "pipeline/ops/carve/tiles.h"
#include "pipeline/timing.h"

#include <stdatomic.h>
#include <string.h>

enum { MAPS = 2, ROWS_A_LOOK = 16, PIECES = 16 };
_Static_assert(MAPS *HALVES *TILES_MOST <= (int)TEAM_KEPT_MAX, "each tile may be a piece");
enum { ROWS_AHEAD = 12 }; /* of parents that are fetched on the way back */

struct work {
    struct seam_search *search;
    struct energy_map *maps[MAPS];  /* to be searched */
    struct energy_map *own, *other; /* the seam's map; its twin or NULL */
    int64_t traced_ns;              /* time of the upper half */
    atomic_int status;
    uint32_t columns, rows; /* seams left to remove */
    uint32_t taken;

    struct team team;
    bool tiled;                           /* the last pass was by tiles */
    int cut[MAPS];                        /* tiles of a half of each map to be searched */
    int tiles, sweepers;                  /* of all these maps; threads that may sweep them */
    int parity;                           /* of the seam, for tiles_close */
    _Alignas(CACHE_LINE) atomic_int left; /* tiles that are not swept to the middle */
};

static bool stopped(struct work *work) {
    const enum status status = progress_check(work->search->progress);
    if (status) atomic_store_explicit(&work->status, (int)status, memory_order_relaxed);
    return status != STATUS_OK;
}

/* For the leader. */
static void share(struct work *work, void (*section)(struct work *work, int index), int count) {
    team_share(&work->team, section, count, false);
}

/* ---- closing up */

/* Removes the seam's pixel from luma of row Y. WIDTH pixels remain: 0 where a picture of one column
 * grows. */
static void close_luma(const struct energy_map *map, uint32_t y, uint32_t width) {
    const uint32_t x = map->seam[y];
    uint8_t *luma = energy_map_luma(map, y);
    memmove(luma + x, luma + x + 1, width - x + ENERGY_MARGIN);
    if (x == 0) energy_map_pad_left(luma);
    if (x == width && width) energy_map_pad_right(luma, width);
}

static void close_energy(const struct energy_map *map, uint32_t y, uint32_t width) {
    uint16_t *energy = energy_map_energy(map, y) + map->seam[y];
    memmove(energy, energy + 1, (width - map->seam[y]) * sizeof *energy);
}

/* Returns the columns of row Y, FIRST to END - 1, whose energies the seam changes. */
static struct band reached(const struct energy_map *map, uint32_t y) {
    const uint32_t reach = 2 * (uint32_t)carve_reach(map->energy_kind), x = map->seam[y];
    return (struct band){ x < reach ? 0 : x - reach,
                          x + reach < map->width ? x + reach : map->width };
}

/* Returns the rows that are closed up during the way back, because the other half's energies need
 * them. */
static uint32_t shared_rows(const struct energy_map *map, int half) {
    const uint32_t reach = (uint32_t)carve_reach(map->energy_kind);
    const uint32_t rows = energy_map_half_rows(map, half);
    return reach < rows ? reach : rows;
}

/* Before row I of a half is passed: closes up the open rows that its energies need. */
static void close_ahead(const struct energy_map *map, int half, uint32_t i, uint32_t *closed) {
    const uint32_t open = energy_map_half_rows(map, half) - shared_rows(map, half);
    const uint32_t seen = i + 1 + (uint32_t)carve_reach(map->energy_kind);
    for (; *closed < open && *closed < seen; ++*closed)
        close_luma(map, energy_map_half_row(map, half, *closed), map->width);
    if (!map->energy) return;
    const uint32_t y = energy_map_half_row(map, half, i);
    const struct band band = reached(map, y);
    close_energy(map, y, map->width);
    energy_map_update(map, y, band.first, band.end);
}

/* ---- passes */

static void pass_half(struct work *work, struct energy_map *map, int half) {
    const uint32_t count = energy_map_half_rows(map, half);
    uint8_t *const *costs = map->costs[half];
    uint32_t closed = 0;
    if (!count) dp_empty_row(map->bits, costs[0], map->width);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t y = energy_map_half_row(map, half, i);
        if (map->open) close_ahead(map, half, i, &closed);
        const uint16_t *energies = energy_map_energy_row(map, y, half);
        if (i == 0)
            dp_first_row(map->bits, energies, costs[0], map->width);
        else if (map->weighed)
            dp_weighed_row(map->bits, costs[(i - 1) % 2], energies, costs[i % 2],
                           map->parents + y * map->words, map->width,
                           energy_map_steps(map, y, energy_map_half_row(map, half, i - 1)));
        else
            dp_next_row(map->bits, costs[(i - 1) % 2], energies, costs[i % 2],
                        map->parents + y * map->words, map->width);
        if (i % ROWS_A_LOOK == 0 && stopped(work)) return;
    }
    map->last[half] = costs[count ? (count - 1) % 2 : 0];
}

static void pass_piece(struct work *work, int index) {
    pass_half(work, work->maps[index / HALVES], index % HALVES);
}

/* ---- passes by many threads: the seam before is closed up and the halves are swept by tiles of
 * columns; where energies are stored, or tiles have new borders, closed up by bands of rows */

/* Whether row Y was left open by the way back. */
static bool is_open(const struct energy_map *map, uint32_t y) {
    if (map->open_whole) return true;
    const int half = y <= energy_map_middle(map) ? UPPER : LOWER;
    return energy_map_half_row(map, half, y) + shared_rows(map, half) <
           energy_map_half_rows(map, half);
}

static void close_piece(struct work *work, int index) {
    const struct energy_map *map = work->maps[index / PIECES];
    const struct band rows = band_of(map->height, index % PIECES, PIECES);
    for (uint32_t y = rows.first; map->open && y < rows.end; y++) {
        if (is_open(map, y)) close_luma(map, y, map->width);
        if (map->energy) close_energy(map, y, map->width);
    }
}

static void update_piece(struct work *work, int index) {
    const struct energy_map *map = work->maps[index / PIECES];
    const struct band rows = band_of(map->height, index % PIECES, PIECES);
    for (uint32_t y = rows.first; map->open && map->energy && y < rows.end; y++) {
        const struct band band = reached(map, y);
        energy_map_update(map, y, band.first, band.end);
    }
}

/* One tile among those of all maps. */
struct place {
    struct energy_map *map;
    int half, number, count; /* of the half's */
};

static struct place place_of(const struct work *work, int tile) {
    int map = 0;
    for (; tile >= HALVES * work->cut[map]; map++) tile -= HALVES * work->cut[map];
    const int count = work->cut[map];
    return (struct place){ work->maps[map], tile / count, tile % count, count };
}

/* The tiles of piece INDEX are FIRST to END - 1. */
static struct band tiles_of(const struct work *work, int index) {
    return band_of((uint32_t)work->tiles, index, work->sweepers);
}

static void save_tiles(struct work *work, int index) {
    const struct band own = tiles_of(work, index);
    for (uint32_t i = own.first; i < own.end; i++) {
        const struct place at = place_of(work, (int)i);
        tiles_save(at.map, at.half, at.number, work->parity);
    }
}

static void close_tiles(struct work *work, int index) {
    const struct band own = tiles_of(work, index);
    for (uint32_t i = own.first; i < own.end; i++) {
        const struct place at = place_of(work, (int)i);
        tiles_close(at.map, at.half, at.number, at.count, work->parity);
    }
}

/* A step of the first of MINE, a bit each, that can go on. Returns its bit, or 0. */
static uint32_t step_one(struct work *work, uint32_t mine, bool *done) {
    for (int i = 0; i < work->tiles; i++) {
        if (!(mine >> i & 1)) continue;
        const struct place at = place_of(work, i);
        if (tiles_step(at.map, at.half, at.number, at.count, done)) return UINT32_C(1) << i;
    }
    return 0;
}

/* Each thread does tiles of its own, and adopts others that are held up: their threads may have no
 * core. */
static void sweep_piece(struct work *work, int index) {
    const struct band own = tiles_of(work, index);
    uint32_t mine = 0;
    int looks = 0;
    for (uint32_t i = own.first; i < own.end; i++) mine |= UINT32_C(1) << i;
    while (atomic_load_explicit(&work->left, memory_order_acquire) > 0 &&
           !atomic_load_explicit(&work->status, memory_order_relaxed)) {
        bool done = false;
        uint32_t moved = step_one(work, mine, &done);
        if (!moved &&
            (looks % LOOKS_BEFORE_OTHERS == LOOKS_BEFORE_OTHERS - 1 || looks > LOOKS_BEFORE_SLEEP))
            mine |= moved = step_one(work, ~mine, &done);
        if (done) atomic_fetch_sub_explicit(&work->left, 1, memory_order_release);
        looks = moved ? 0 : looks + 1;
        if (moved)
            stopped(work);
        else
            team_breathe(looks);
    }
}

static void close_bands(struct work *work, int maps) {
    share(work, close_piece, maps * PIECES);
    if (work->maps[0]->energy) share(work, update_piece, maps * PIECES);
}

static void close_before_tiles(struct work *work, int maps) {
    struct energy_map *map = work->maps[0];
    const uint32_t columns = tiles_columns(map);
    if (maps > 1 || map->energy || map->ids) {
        close_bands(work, maps);
        return;
    }
    if (map->open && map->bordered == columns) {
        team_share(&work->team, close_tiles, work->sweepers, true);
        work->parity = !work->parity;
    } else if (map->open || map->bordered != columns) {
        close_bands(work, maps);
        team_share(&work->team, save_tiles, work->sweepers, true);
    }
    map->bordered = columns;
}

/* By halves a small team is faster, unless the map is wide. A seam of 1080p took 4 members by tiles
 * 0.51 ms, 2 by halves 0.40 and 8 by tiles 0.35; one of 7680 columns took 4 by tiles less than 2 by
 * halves. Both numbers here lie between those that were measured. */
enum { TILED_MEMBERS = 6, WIDE = 3072 };

/* False: the team or a map is too small. */
static bool pass_tiles(struct work *work, int maps) {
    const int members = atomic_load_explicit(&work->team.members, memory_order_relaxed);
    uint32_t widest = 0;
    for (int i = 0; i < maps; i++)
        if (work->maps[i]->width > widest) widest = work->maps[i]->width;
    if (members < (widest < WIDE ? +TILED_MEMBERS : HALVES + 1) || work->team.alone) return false;
    work->tiles = 0;
    for (int i = 0; i < maps; i++) {
        work->cut[i] = tiles_begin(work->maps[i]);
        if (!work->cut[i]) return false;
        work->tiles += HALVES * work->cut[i];
    }
    work->sweepers = members < work->tiles ? members : work->tiles;
    close_before_tiles(work, maps);
    atomic_store_explicit(&work->left, work->tiles, memory_order_relaxed);
    team_share(&work->team, sweep_piece, work->sweepers, true);
    for (int i = 0; i < maps; i++) tiles_end(work->maps[i]);
    return true;
}

static struct dp_meeting meet(const struct energy_map *map) {
    const uint32_t middle = energy_map_middle(map);
    const uint32_t below = middle + 1 < map->height ? middle + 1 : middle;
    return map->weighed ? dp_weighed_meet(map->bits, map->last[UPPER], map->last[LOWER], map->width,
                                          energy_map_steps(map, middle, below))
                        : dp_meet(map->bits, map->last[UPPER], map->last[LOWER], map->width);
}

static void pass(struct work *work, int maps) {
    work->tiled = pass_tiles(work, maps);
    if (!work->tiled) {
        for (int i = 0; i < maps; i++) work->maps[i]->bordered = 0;
        if (work->maps[0]->open_whole) {
            close_bands(work, maps);
            work->maps[0]->open = false;
        }
        share(work, pass_piece, maps * HALVES);
    }
    for (int i = 0; i < maps; i++) work->maps[i]->open = work->maps[i]->open_whole = false;
    for (int i = 0; i < maps && !work->status; i++) {
        struct energy_map *map = work->maps[i];
        map->met = meet(map);
    }
}

/* Energies grow as seams go, so a map too expensive for 16 bits keeps 32. */
static void pass_exactly(struct work *work, struct energy_map *map) {
    if (work->status || map->met.exact) return;
    map->bits = COST_32;
    work->maps[0] = map;
    pass(work, 1);
}

/* Returns the cost of the map's seam, to be compared with that of one of another length. */
static uint64_t rank_of(const struct energy_map *map) {
    return map->soft     ? carve_rank_soft(map->met.cost, map->height)
           : map->masked ? carve_rank(map->met.cost, map->height)
                         : map->met.cost;
}

/* Passes every map that may lose a seam, and chooses the cheaper seam. */
static void choose(struct work *work) {
    struct seam_search *search = work->search;
    struct energy_map *upright = work->columns ? search->upright : NULL;
    struct energy_map *turned = work->rows ? search->turned : NULL;
    int maps = 0;
    if (upright) work->maps[maps++] = upright;
    if (turned) work->maps[maps++] = turned;
    pass(work, maps);
    if (upright) pass_exactly(work, upright);
    if (turned) pass_exactly(work, turned);
    work->own = upright ? upright : turned;
    if (upright && turned && rank_of(turned) < rank_of(upright)) work->own = turned;
}

/* ---- the way back, and closing up */

static void trace(const struct energy_map *map, int half) {
    const uint32_t m = energy_map_middle(map);
    const uint32_t first = half == UPPER ? m : m + 1, last = half == UPPER ? 0 : map->height - 1;
    if (first >= map->height) return;
    uint32_t x = half == UPPER ? map->met.column : map->met.below;
    map->seam[first] = (uint16_t)x;
    const ptrdiff_t ahead = half == UPPER ? -ROWS_AHEAD : ROWS_AHEAD;
    for (uint32_t y = first; y != last;) {
        /* Other threads wrote it: it is fetched from their caches. */
        const ptrdiff_t next = (ptrdiff_t)y + ahead;
        if (next >= 0 && next < (ptrdiff_t)map->height)
            __builtin_prefetch(map->parents + (size_t)next * map->words + x / 32);
        x += (uint32_t)dp_step(map->parents + y * map->words, x);
        y += half == UPPER ? UINT32_MAX : 1;
        map->seam[y] = (uint16_t)x;
    }
}

static void trace_part(struct work *work, int half) {
    const struct energy_map *map = work->own;
    const int64_t start = clock_ns();
    trace(map, half);
    if (half == UPPER) work->traced_ns = clock_ns() - start;
    const uint32_t rows = energy_map_half_rows(map, half);
    const uint32_t first = work->search->turned && work->search->upright ? 0
                           : map->open_whole                             ? rows
                                             : rows - shared_rows(map, half);
    for (uint32_t i = first; i < rows; i++)
        close_luma(map, energy_map_half_row(map, half, i), map->width - 1);
}

static void close_part(struct work *work, int index) {
    const struct energy_map *map = work->own;
    const struct band rows = band_of(map->height, index, PIECES);
    for (uint32_t y = rows.first; y < rows.end; y++) {
        if (y % ROWS_A_LOOK == 0 && stopped(work)) return;
        if (map->energy) close_energy(map, y, map->width);
        if (!map->ids) continue;
        uint32_t *ids = energy_map_ids(map, y) + map->seam[y];
        if (work->search->red) carve_paint(work->search->red, *ids);
        memmove(ids, ids + 1, (map->width - map->seam[y]) * sizeof *ids);
    }
}

/* ---- the twin */

static void shift_ids(const struct work *work, struct energy_map *upright, struct band band) {
    const uint16_t *seam = work->own->seam;
    for (uint32_t x = band.first; work->search->red && x < band.end; x++)
        carve_paint(work->search->red, energy_map_ids(upright, seam[x])[x]);
    column_shift_up(upright->ids, sizeof *upright->ids, upright->stride, upright->height, seam,
                    band.first, band.end);
}

/* Repeats the padding where the first and the last column moved up. */
static void pad_shifted(const struct energy_map *map, const uint16_t *seam, struct band band) {
    const uint32_t last = map->width - 1;
    for (uint32_t y = seam[0]; band.first == 0 && y + 1 < map->height; y++)
        energy_map_pad_left(energy_map_luma(map, y));
    for (uint32_t y = seam[last]; band.end > last && y + 1 < map->height; y++)
        energy_map_pad_right(energy_map_luma(map, y), map->width);
}

static void shift_piece(struct work *work, int index) {
    struct energy_map *map = work->other;
    const uint16_t *seam = work->own->seam;
    const struct band band = band_of(map->width, index, PIECES);
    if (band.first == band.end || stopped(work)) return;
    if (map->ids) shift_ids(work, map, band);
    if (!work->columns || !work->rows) return; /* the twin is no longer searched */
    column_shift_up(map->luma, 1, map->stride, map->height, seam, band.first, band.end);
    if (map->energy)
        column_shift_up(map->energy, sizeof *map->energy, map->stride, map->height, seam,
                        band.first, band.end);
    pad_shifted(map, seam, band);
}

/* Copies energies from the seam's own map to the twin, which is the same map turned. */
static void energy_part(struct work *work, int index) {
    const struct energy_map *map = work->own;
    const struct band rows = band_of(map->height, index, PIECES);
    for (uint32_t y = rows.first; y < rows.end; y++) {
        const struct band band = reached(map, y);
        if (y % ROWS_A_LOOK == 0 && stopped(work)) return;
        energy_map_update(map, y, band.first, band.end);
        for (uint32_t i = band.first; i < band.end; i++)
            energy_map_energy(work->other, i)[y] = energy_map_energy(map, y)[i];
    }
}

/* ---- seams */

static void close_both(struct work *work) {
    struct energy_map *own = work->own;
    int64_t *ns = work->search->ns;
    const int64_t start = clock_ns();
    share(work, close_part, PIECES);
    share(work, shift_piece, PIECES);
    work->other->height--;
    const int64_t closed = clock_ns();
    ns[CARVE_AT_REMOVE] += closed - start;
    if (!own->energy) return;
    share(work, energy_part, PIECES);
    ns[CARVE_AT_ENERGY] += clock_ns() - closed;
}

static void take_seam(struct work *work) {
    struct seam_search *search = work->search;
    struct energy_map *own = work->own;
    const int64_t start = clock_ns();
    work->other = own == search->upright ? search->turned : search->upright;
    if (!work->other && work->taken++) own->seam += own->height;
    own->open_whole = work->tiled && !work->other && !own->energy && !own->ids;
    share(work, trace_part, HALVES);
    search->ns[CARVE_AT_TRACE] += work->traced_ns;
    search->ns[CARVE_AT_REMOVE] += clock_ns() - start - work->traced_ns;
    own->width--;
    own->open = !work->other;
    if (work->other) close_both(work);
    *(own == search->upright ? &work->columns : &work->rows) -= 1;
}

static bool is_cleared(const struct work *work) {
    return work->search->clears && work->taken >= work->search->least &&
           !carve_removes(work->own->met.cost, work->own->height);
}

static void lead(struct work *work) {
    struct seam_search *search = work->search;
    while (work->columns || work->rows) {
        const int64_t start = clock_ns();
        choose(work);
        if (work->status) return;
        search->ns[CARVE_AT_SEAM] += clock_ns() - start;
        if (is_cleared(work)) break;
        take_seam(work);
        if (work->status) return;
        search->done++;
        if (search->total < search->done) search->total = search->done;
        progress_report(search->progress, search->done, search->total);
    }
    if (work->own->open && work->own->masked) share(work, close_part, PIECES);
}

enum status seam_search_run(struct seam_search *search) {
    struct work work = { .search = search, .columns = search->columns, .rows = search->rows };
    const struct energy_map *upright = search->upright, *turned = search->turned;
    const bool narrow =
        (upright && energy_map_is_narrow(upright)) || (turned && energy_map_is_narrow(turned));
    const int threads = narrow ? 1 : pool_threads(search->pool);
    const int halves = upright && turned ? MAPS * HALVES : HALVES;
    const bool tiled = (!upright || upright->tiles) && (!turned || turned->tiles);
    const int most = tiled ? halves * TILES_MOST : halves;
    atomic_init(&work.status, STATUS_OK);
    atomic_init(&work.left, 0);
    if (search->upright) search->upright->seam = search->seams;
    if (search->turned) search->turned->seam = search->seams;
    team_run(&work.team, search->pool, most < threads ? most : threads, &work, lead);
    search->taken = work.taken;
    return (enum status)atomic_load(&work.status);
}
