// SPDX-License-Identifier: Apache-2.0
/* fast_pairs.cuh - a leader's costs as pairs of 16 bits, and how it is known that they are right.
 *
 * A lane has 8 columns, two neighbouring ones in a word, as energies lie in memory. Costs are
 * relative to a base of the warp's own. Every 32 rows both are renewed: the least cost of the warp
 * some rows earlier, which no later one is below, goes into the base, and what is then more than
 * PAIR_LIMIT becomes PAIR_LIMIT, as it also does before it is sent to a neighbour. From there 16
 * rows of at most 2047 fit into 16 bits, so that words are added without a carry from one column
 * into the other. Costs from a neighbour come with their sender's base and are converted likewise.
 *
 * Lowered costs (at least base + PAIR_LIMIT when they were lowered) make others too low. Let L be
 * the least of base + PAIR_LIMIT over all places of a half where a cost was lowered. Then every
 * computed cost is at most the true one, and one that is less than L is the true one:
 *   lowering  leaves nothing below base + PAIR_LIMIT >= L that was not there before.
 *   a row     c = e + the least of three. If that least is below L, it is true, and so is every
 *             other of the three that is below L; the rest are at least L, and truly no less than
 *             computed. So the least is the true least. If it is L or more, so is c.
 * The seam: where the halves meet, let the leftmost least sum have a cost below L in the upper
 * half, and below L in the lower. Both are true, so no true sum is less; a place further left that
 * truly had the same sum would have a computed one of at most that, and would have been taken.
 * Further outward all costs on the seam are smaller still, hence true, and of each three
 * neighbours, those below L are true and the others are not the least: the smallest column is the
 * right one too. So this seam is exact. Otherwise it may not be taken out: the launch ends, and one
 * with words of 32 bits goes on from there. Followers add true energies to told costs; the same
 * holds for theirs.
 *
 * Columns beside the image: the dearer the further out, from the first row on, since their energy
 * is more than any pixel's; lowering keeps that. They never are less than the border column, so
 * they may be lowered without harm, and need not be far away before the first row: 0 is enough
 * there.
 */
#ifndef BURIN_CARVE_FAST_PAIRS_CUH
#define BURIN_CARVE_FAST_PAIRS_CUH

#include "cuda/ops/carve/fast_ring.cuh"

enum { PAIR_LIMIT = 0x7000 }; /* leaves the words' top bits to tags when they are sent */
static const uint32_t PAIR_ONES = 0x00010001, PAIR_TAGS = 0x80008000;

struct lead_pairs {
    enum { COLUMNS = 8, BYTES = 16 };
    uint32_t pair[4];
    /* The outermost columns once more, in the upper half of a word: for the neighbouring lanes, so
     * that a row waits for nothing but what they send. */
    uint32_t first, last;
    uint32_t base;
    uint32_t least;     /* no later cost of the warp is less, without the base; in both halves */
    uint32_t lowest;    /* L of this lane; ~0: nothing was lowered */
    uint32_t inside[4]; /* ones where a column lies in the image */
};

/* ---- rows */

static __device__ __forceinline__ void pairs_edges(struct lead_pairs &costs) {
    costs.first = costs.pair[0] << 16;
    costs.last = costs.pair[3];
}

static __device__ __forceinline__ void lead_begin(struct lead_pairs &costs,
                                                  const struct lead_warp &warp, int width) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int x = warp.x + 2 * k;
        costs.pair[k] = 0;
        costs.inside[k] =
            (x >= 0 && x < width ? 0xffff : 0) | (x + 1 >= 0 && x + 1 < width ? 0xffff0000 : 0);
    }
    costs.base = 0, costs.least = 0, costs.lowest = ~0u;
    pairs_edges(costs);
}

/* With e the column's energy, c = min(min(own, inner neighbour) + e, outer neighbour + e): the
 * latter is one instruction once the neighbouring lane's word is there, the former is ready by
 * then. In comments, columns of the words: lower half, upper half. */
static __device__ __forceinline__ void lead_row(struct lead_pairs &costs,
                                                const struct lead_energies<8> &energies) {
    uint32_t(&pair)[4] = costs.pair;
    const uint32_t(&energy)[4] = energies.pairs;
    const uint32_t before = __shfl_up_sync(~0u, costs.last, 1);   /* -, -1 */
    const uint32_t after = __shfl_down_sync(~0u, costs.first, 1); /* 0, 8 */
    const uint32_t odd1 = __byte_perm(pair[0], pair[1], 0x5432);  /* 1, 2 */
    const uint32_t odd2 = __byte_perm(pair[1], pair[2], 0x5432);  /* 3, 4 */
    const uint32_t odd3 = __byte_perm(pair[2], pair[3], 0x5432);  /* 5, 6 */
    const uint32_t inner = __vminu2(pair[0], odd1), high = energy[0] << 16;
    const uint32_t left = inner + energy[0];
    const uint32_t right = __vminu2(pair[3], odd3) + energy[3];
    const uint32_t odd0 = __byte_perm(before, pair[0], 0x5432);         /* -1, 0 */
    const uint32_t odd4 = __byte_perm(pair[3], after, 0x7632);          /* 7, 8 */
    costs.first = __viaddmin_u16x2(before, high, inner * 65536 + high); /* one multiplication */
    costs.last = __viaddmin_u16x2(after, energy[3], right);
    const uint32_t second = __vimin3_u16x2(odd1, pair[1], odd2) + energy[1];
    pair[2] = __vimin3_u16x2(odd2, pair[2], odd3) + energy[2];
    pair[1] = second;
    pair[0] = __viaddmin_u16x2(odd0, energy[0], left);
    pair[3] = __viaddmin_u16x2(odd4, energy[3], right);
}

/* ---- base and limit */

static __device__ __forceinline__ uint32_t pairs_both(uint32_t value) {
    return value * PAIR_ONES;
}

/* The warp's least cost, for the next renewal. Costs beside the image are never less. */
static __device__ __forceinline__ void lead_foresee(struct lead_pairs &costs) {
    const uint32_t least =
        __vminu2(__vimin3_u16x2(costs.pair[0], costs.pair[1], costs.pair[2]), costs.pair[3]);
    costs.least = warp_least(pairs_both(min(least & 0xffff, least >> 16)));
}

/* Whether any cost of a column in the image is more than LIMIT. */
static __device__ __forceinline__ bool pairs_above(const struct lead_pairs &costs, uint32_t limit) {
    const uint32_t most =
        __vmaxu2(__vimax3_u16x2(costs.pair[0] & costs.inside[0], costs.pair[1] & costs.inside[1],
                                costs.pair[2] & costs.inside[2]),
                 costs.pair[3] & costs.inside[3]);
    return max(most & 0xffff, most >> 16) > limit;
}

/* Costs are cut off at the limit. */
static __device__ __forceinline__ void lead_limit(struct lead_pairs &costs) {
    if (pairs_above(costs, PAIR_LIMIT)) costs.lowest = min(costs.lowest, costs.base + PAIR_LIMIT);
#pragma unroll
    for (int k = 0; k < 4; k++) costs.pair[k] = __vminu2(costs.pair[k], pairs_both(PAIR_LIMIT));
    pairs_edges(costs);
}

static __device__ __forceinline__ void lead_renew(struct lead_pairs &costs) {
    const uint32_t least = costs.least & 0xffff;
    costs.base += least;
    if (pairs_above(costs, least + PAIR_LIMIT))
        costs.lowest = min(costs.lowest, costs.base + PAIR_LIMIT);
#pragma unroll
    for (int k = 0; k < 4; k++)
        costs.pair[k] = __vminu2(costs.pair[k] - costs.least, pairs_both(PAIR_LIMIT));
    pairs_edges(costs);
}

/* Of the warp. */
static __device__ __forceinline__ uint32_t lead_lowest(const struct lead_pairs &costs) {
    return warp_least(costs.lowest);
}

/* ---- told and sent */

static __device__ __forceinline__ struct lead_told<8> lead_told_of(const struct lead_pairs &costs,
                                                                   uint32_t head, uint32_t *to) {
    struct lead_told<8> told;
#pragma unroll
    for (int k = 0; k < 8; k++)
        told.words[k] = __dp2a_lo(costs.pair[k / 2], k % 2 ? 0x100u : 1u, costs.base | head);
    told.to = to;
    return told;
}

/* An inbox is used at every other exchange, so one bit tells the new from the old; it is in both
 * halves of a word. Memory that is 0 is old. */
static __device__ __forceinline__ uint32_t
pairs_tag(uint32_t exchange) {
    return (exchange + 1) >> 1 & 1 ? PAIR_TAGS : 0;
}

/* The edges of the warp's own columns to both neighbours, and the base that they are relative to.
 */
static __device__ __forceinline__ void lead_send(const struct lead_warp &warp,
                                                 const struct lead_pairs &costs) {
    const uint32_t to = warp.to + inbox_turn(warp.exchanges), tag = pairs_tag(warp.exchanges);
    const uint32_t(&pair)[4] = costs.pair;
    if (!(warp.sends_left && warp.left) && !(warp.sends_right && warp.right)) return;
    push_shared(to, make_uint4(pair[0] | tag, pair[1] | tag, pair[2] | tag, pair[3] | tag));
    if (warp.heads) push_shared_word(to + LEAD_INBOX_BASE, costs.base | warp.exchanges << 30);
}

/* What came from the neighbours: the lane's costs, and both bases. */
struct pairs_news {
    uint4 words;
    uint32_t left, right;
};

static __device__ __forceinline__ struct pairs_news
pairs_wait(const struct fast_job &job, const struct lead_warp &warp, bool waits, uint32_t own) {
    const uint32_t turn = inbox_turn(warp.exchanges), tag = pairs_tag(warp.exchanges);
    const uint32_t head = warp.exchanges << 30, top = 3u << 30;
    struct pairs_news news = { make_uint4(tag, tag, tag, tag), own | head, own | head };
    bool here = false;
    for (uint32_t spins = 0; !here; spins++) {
        if (waits) news.words = load_shared(warp.inbox + turn);
        if (warp.left) news.left = load_shared_word(warp.bases + turn);
        if (warp.right) news.right = load_shared_word(warp.bases + LEAD_INBOX_SIDE + turn);
        const uint32_t wrong = (news.words.x ^ tag) | (news.words.y ^ tag) | (news.words.z ^ tag) |
                               (news.words.w ^ tag);
        here = __all_sync(~0u, !(wrong & PAIR_TAGS) &&
                                   !(((news.left ^ head) | (news.right ^ head)) & top));
        if (spins == FAST_PATIENCE) FAST_STUCK(job, STUCK_INBOX);
    }
    news.left &= ~top, news.right &= ~top;
    return news;
}

/* The new base is the least of the three, since costs may not be less than it. */
static __device__ __forceinline__ void
lead_receive(const struct fast_job &job, const struct lead_warp &warp, struct lead_pairs &costs) {
    const bool from_left = warp.at_left && warp.left, from_right = warp.at_right && warp.right;
    const bool waits = from_left || from_right;
    const struct pairs_news news = pairs_wait(job, warp, waits, costs.base);
    const uint32_t base = __vimin3_u32(costs.base, news.left, news.right);
    const uint32_t given = from_left ? news.left : from_right ? news.right : costs.base;
    const uint32_t more = min(given - base, (uint32_t)PAIR_LIMIT);
    const uint32_t words[] = { news.words.x, news.words.y, news.words.z, news.words.w };
#pragma unroll
    for (int k = 0; k < 4; k++) costs.pair[k] = waits ? words[k] & ~PAIR_TAGS : costs.pair[k];
    if (pairs_above(costs, PAIR_LIMIT - more)) costs.lowest = min(costs.lowest, base + PAIR_LIMIT);
#pragma unroll
    for (int k = 0; k < 4; k++)
        costs.pair[k] = __vminu2(costs.pair[k], pairs_both(PAIR_LIMIT - more)) + pairs_both(more);
    costs.base = base;
    pairs_edges(costs);
}

#endif
