// SPDX-License-Identifier: Apache-2.0
/* HOW. A seam is a few sections of work that the crew shares: the halves of each plane are swept
 * towards the middle, by two threads; where they meet the seam is known, and each half goes its way
 * back and closes up its own rows. In two planes the other one is then cut crosswise. Energies that
 * are kept in a plane are made again where the seam is in reach: a pixel's window, `reach` columns
 * to each side in `reach` rows above and below, in which the seam moves by as much again, so 2 *
 * reach columns left of the seam and as many from it on. */
#include "pipeline/ops/carve/seam.h"

#include "pipeline/ops/carve.h"
#include "pipeline/ops/carve/apply.h"
#include "pipeline/ops/carve/crew.h"
#include "pipeline/ops/carve/lift.h"

#include "pipeline/sample.h"

#include <stdatomic.h>
#include <string.h>

enum { PLANES = 2, ROWS_A_LOOK = 16, LIFT_PARTS = 16 };

struct work {
    struct carve_search *search;
    struct crew *crew;
    struct carve_plane *planes[PLANES]; /* to be swept */
    struct carve_plane *own, *other;    /* the seam's plane; its twin or NULL */
    int64_t traced_ns;                  /* upper half's */
    atomic_int status;
    uint32_t columns, rows; /* left to take */
    uint32_t taken;
};

static bool stopped(struct work *work) {
    const enum status status = progress_check(work->search->progress);
    if (status) atomic_store_explicit(&work->status, (int)status, memory_order_relaxed);
    return status != STATUS_OK;
}

/* ---- closing up */

static uint32_t middle(const struct carve_plane *plane) {
    return (plane->height - 1) / 2;
}

/* Luma of row Y loses the seam's pixel; WIDTH is left: nothing, where a picture of one column is to
 * grow. */
static void close_luma(const struct carve_plane *plane, uint32_t y, uint32_t width) {
    const uint32_t x = plane->seam[y];
    uint8_t *luma = plane_luma(plane, y);
    memmove(luma + x, luma + x + 1, width - x + ENERGY_MARGIN);
    if (x == 0) plane_pad_left(luma);
    if (x == width && width) plane_pad_right(luma, width);
}

static void close_energy(const struct carve_plane *plane, uint32_t y, uint32_t width) {
    uint16_t *energy = plane_energy(plane, y) + plane->seam[y];
    memmove(energy, energy + 1, (width - plane->seam[y]) * sizeof *energy);
}

static void close_ids(const struct carve_plane *plane, uint32_t y, uint32_t width,
                      const struct image *red) {
    uint32_t *ids = plane_ids(plane, y) + plane->seam[y];
    if (red) carve_paint(red, *ids);
    memmove(ids, ids + 1, (width - plane->seam[y]) * sizeof *ids);
}

/* Energies of row Y in reach of the seam, from FIRST to END - 1. */
static struct band reached(const struct carve_plane *plane, uint32_t y) {
    const uint32_t reach = 2 * (uint32_t)carve_reach(plane->energy_kind), x = plane->seam[y];
    return (struct band){ x < reach ? 0 : x - reach,
                          x + reach < plane->width ? x + reach : plane->width };
}

/* Rows of a half from its end to the middle. */
static uint32_t half_rows(const struct carve_plane *plane, int half) {
    const uint32_t upper = middle(plane) + 1;
    return half == UPPER ? upper : plane->height - upper;
}

static uint32_t half_row(const struct carve_plane *plane, int half, uint32_t i) {
    return half == UPPER ? i : plane->height - 1 - i;
}

/* Rows that are closed up with the way back, since the other half's energies see them. */
static uint32_t shared_rows(const struct carve_plane *plane, int half) {
    const uint32_t reach = (uint32_t)carve_reach(plane->energy_kind);
    const uint32_t rows = half_rows(plane, half);
    return reach < rows ? reach : rows;
}

/* Before row I of a half is swept: closes up what its energies see that is open yet. */
static void close_ahead(const struct carve_plane *plane, int half, uint32_t i, uint32_t *closed) {
    const uint32_t open = half_rows(plane, half) - shared_rows(plane, half);
    const uint32_t seen = i + 1 + (uint32_t)carve_reach(plane->energy_kind);
    for (; *closed < open && *closed < seen; ++*closed)
        close_luma(plane, half_row(plane, half, *closed), plane->width);
    if (!plane->energy) return;
    const uint32_t y = half_row(plane, half, i);
    const struct band band = reached(plane, y);
    close_energy(plane, y, plane->width);
    plane_energies(plane, y, band.first, band.end);
}

/* ---- sweep */

static void sweep_half(struct work *work, struct carve_plane *plane, int half) {
    const uint32_t count = half_rows(plane, half);
    uint8_t *const *costs = plane->costs[half];
    uint32_t closed = 0;
    if (!count) sweep_none(plane->lanes, costs[0], plane->width);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t y = half_row(plane, half, i);
        if (plane->open) close_ahead(plane, half, i, &closed);
        const uint16_t *energies = plane_row(plane, y, half);
        if (i == 0)
            sweep_first(plane->lanes, energies, costs[0], plane->width);
        else
            sweep_row(plane->lanes, costs[(i - 1) % 2], energies, costs[i % 2],
                      plane->parents + y * plane->words, plane->width);
        if (i % ROWS_A_LOOK == 0 && stopped(work)) return;
    }
    plane->last[half] = costs[count ? (count - 1) % 2 : 0];
}

static void sweep_part(void *argument, int part) {
    struct work *work = argument;
    sweep_half(work, work->planes[part / HALVES], part % HALVES);
}

static void sweep(struct work *work, int planes) {
    crew_share(work->crew, sweep_part, work, planes * HALVES);
    for (int i = 0; i < planes; i++) work->planes[i]->open = false;
    for (int i = 0; i < planes && !work->status; i++) {
        struct carve_plane *plane = work->planes[i];
        plane->met = sweep_meet(plane->lanes, plane->last[UPPER], plane->last[LOWER], plane->width);
    }
}

/* Energies grow as seams go: a plane that was too dear for 16 bits stays with 32. */
static void sweep_exactly(struct work *work, struct carve_plane *plane) {
    if (work->status || plane->met.exact) return;
    plane->lanes = LANES_32;
    work->planes[0] = plane;
    sweep(work, 1);
}

/* Every plane that a seam may come from; the cheaper one is chosen. */
static void choose(struct work *work) {
    struct carve_search *search = work->search;
    struct carve_plane *upright = work->columns ? search->upright : NULL;
    struct carve_plane *turned = work->rows ? search->turned : NULL;
    int planes = 0;
    if (upright) work->planes[planes++] = upright;
    if (turned) work->planes[planes++] = turned;
    sweep(work, planes);
    if (upright) sweep_exactly(work, upright);
    if (turned) sweep_exactly(work, turned);
    work->own = upright ? upright : turned;
    if (upright && turned &&
        (upright->masked ? carve_rank(turned->met.cost, turned->height) <
                               carve_rank(upright->met.cost, upright->height)
                         : turned->met.cost < upright->met.cost))
        work->own = turned;
}

/* ---- the way back, and closing up */

static void trace(const struct carve_plane *plane, int half) {
    const uint32_t m = middle(plane);
    const uint32_t first = half == UPPER ? m : m + 1, last = half == UPPER ? 0 : plane->height - 1;
    if (first >= plane->height) return;
    uint32_t x = half == UPPER ? plane->met.column : plane->met.below;
    plane->seam[first] = (uint16_t)x;
    for (uint32_t y = first; y != last;) {
        x += (uint32_t)sweep_step(plane->parents + y * plane->words, x);
        y += half == UPPER ? UINT32_MAX : 1;
        plane->seam[y] = (uint16_t)x;
    }
}

static void trace_part(void *argument, int half) {
    struct work *work = argument;
    const struct carve_plane *plane = work->own;
    const int64_t start = clock_ns();
    trace(plane, half);
    if (half == UPPER) work->traced_ns = clock_ns() - start;
    const uint32_t rows = half_rows(plane, half);
    const uint32_t first =
        work->search->turned && work->search->upright ? 0 : rows - shared_rows(plane, half);
    for (uint32_t i = first; i < rows; i++)
        close_luma(plane, half_row(plane, half, i), plane->width - 1);
}

static void close_part(void *argument, int half) {
    struct work *work = argument;
    const struct carve_plane *plane = work->own;
    for (uint32_t i = 0; i < half_rows(plane, half); i++) {
        const uint32_t y = half_row(plane, half, i);
        if (i % ROWS_A_LOOK == 0 && stopped(work)) return;
        if (plane->energy) close_energy(plane, y, plane->width);
        if (plane->ids) close_ids(plane, y, plane->width, work->search->red);
    }
}

/* ---- the twin */

static void lift_ids(const struct work *work, struct carve_plane *upright, struct band band) {
    const uint16_t *seam = work->own->seam;
    for (uint32_t x = band.first; work->search->red && x < band.end; x++)
        carve_paint(work->search->red, plane_ids(upright, seam[x])[x]);
    lift(upright->ids, sizeof *upright->ids, upright->stride, upright->height, seam, band.first,
         band.end);
}

/* Luma's padding moves up with the first and the last column. */
static void pad_lifted(const struct carve_plane *plane, const uint16_t *seam, struct band band) {
    const uint32_t last = plane->width - 1;
    for (uint32_t y = seam[0]; band.first == 0 && y + 1 < plane->height; y++)
        plane_pad_left(plane_luma(plane, y));
    for (uint32_t y = seam[last]; band.end > last && y + 1 < plane->height; y++)
        plane_pad_right(plane_luma(plane, y), plane->width);
}

static void lift_part(void *argument, int part) {
    struct work *work = argument;
    struct carve_plane *plane = work->other;
    const uint16_t *seam = work->own->seam;
    const struct band band = band_of(plane->width, part, LIFT_PARTS);
    if (band.first == band.end || stopped(work)) return;
    if (plane->ids) lift_ids(work, plane, band);
    if (!work->columns || !work->rows) return; /* the twin is not searched any more */
    lift(plane->luma, 1, plane->stride, plane->height, seam, band.first, band.end);
    if (plane->energy)
        lift(plane->energy, sizeof *plane->energy, plane->stride, plane->height, seam, band.first,
             band.end);
    pad_lifted(plane, seam, band);
}

/* The seam's own plane is the twin's, turned: so are its energies. */
static void energy_part(void *argument, int part) {
    struct work *work = argument;
    const struct carve_plane *plane = work->own;
    const struct band rows = band_of(plane->height, part, HALVES);
    for (uint32_t y = rows.first; y < rows.end; y++) {
        const struct band band = reached(plane, y);
        if (y % ROWS_A_LOOK == 0 && stopped(work)) return;
        plane_energies(plane, y, band.first, band.end);
        for (uint32_t i = band.first; i < band.end; i++)
            plane_energy(work->other, i)[y] = plane_energy(plane, y)[i];
    }
}

/* ---- seams */

/* Two planes are closed up at once. */
static void close_both(struct work *work) {
    struct carve_plane *own = work->own;
    int64_t *ns = work->search->ns;
    const int64_t start = clock_ns();
    crew_share(work->crew, close_part, work, HALVES);
    crew_share(work->crew, lift_part, work, LIFT_PARTS);
    work->other->height--;
    const int64_t closed = clock_ns();
    ns[CARVE_AT_REMOVE] += closed - start;
    if (!own->energy) return;
    crew_share(work->crew, energy_part, work, HALVES);
    ns[CARVE_AT_ENERGY] += clock_ns() - closed;
}

static void take_seam(struct work *work) {
    struct carve_search *search = work->search;
    struct carve_plane *own = work->own;
    const int64_t start = clock_ns();
    work->other = own == search->upright ? search->turned : search->upright;
    if (!work->other && work->taken++) own->seam += own->height;
    crew_share(work->crew, trace_part, work, HALVES);
    search->ns[CARVE_AT_TRACE] += work->traced_ns;
    search->ns[CARVE_AT_REMOVE] += clock_ns() - start - work->traced_ns;
    own->width--;
    own->open = !work->other;
    if (work->other) close_both(work);
    *(own == search->upright ? &work->columns : &work->rows) -= 1;
}

static void lead(struct crew *crew, void *argument) {
    struct work *work = argument;
    struct carve_search *search = work->search;
    work->crew = crew;
    while (work->columns || work->rows) {
        const int64_t start = clock_ns();
        choose(work);
        if (work->status) return;
        search->ns[CARVE_AT_SEAM] += clock_ns() - start;
        take_seam(work);
        if (work->status) return;
        progress_report(search->progress, ++search->done, search->total);
    }
    if (work->own->open && work->own->masked) crew_share(crew, close_part, work, HALVES);
}

/* Threads that may share a section. */
static int members(const struct carve_search *search) {
    const struct carve_plane *upright = search->upright, *turned = search->turned;
    if ((upright && plane_is_narrow(upright)) || (turned && plane_is_narrow(turned))) return 1;
    return upright && turned ? PLANES * HALVES : HALVES;
}

enum status carve_search(struct carve_search *search) {
    struct work work = { .search = search, .columns = search->columns, .rows = search->rows };
    atomic_init(&work.status, STATUS_OK);
    if (search->upright) search->upright->seam = search->seams;
    if (search->turned) search->turned->seam = search->seams;
    crew_run(search->pool, members(search), lead, &work);
    return (enum status)atomic_load(&work.status);
}
