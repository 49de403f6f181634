// SPDX-License-Identifier: Apache-2.0
/* How it works. A block of threads of the GPU is a struct of all that its threads decode, and a
 * round goes from its last subsequence to its first, so that each reads the end before it as the
 * round before left it. */
#include "tests/twins/jpeg_parallel_short.h"
#include "pipeline/codecs/jpeg/join.h"

#include <stdlib.h>
#include <string.h>

/* The decodings of a block of threads: a row for each of its subsequences. */
struct phases {
    struct jpeg_candidate made[JPEG_PHASE_SUBS][JPEG_GUESSES];
    uint32_t orders[JPEG_PHASE_SUBS]; /* of jpeg_continue */
    uint32_t begin, count;
};

/* Returns how many decodings must be continued. */
static uint32_t order_phases(const struct jpeg_picture *picture, struct phases *phases) {
    uint32_t ends[JPEG_GUESSES], starts[JPEG_GUESSES], count = 0;
    for (uint32_t at = 1; at < phases->count; at++) {
        for (uint32_t i = 0; i < picture->guesses; i++) {
            ends[i] = phases->made[at - 1][i].end;
            starts[i] = phases->made[at][i].start;
        }
        phases->orders[at] = jpeg_continue(ends, starts, picture->guesses);
        count += phases->orders[at] != 0;
    }
    return count;
}

/* The last one first: all read where the one before ends before that is decoded again. */
static void continue_phases(const struct jpeg_picture *picture, struct phases *phases) {
    uint32_t buffer[JPEG_SUB_WORDS];
    const struct jpeg_words words = { .at = buffer, .stride = 1 };
    for (uint32_t at = phases->count - 1; at > 0; at--)
        for (uint32_t slot = 0; slot < picture->guesses; slot++) {
            const uint32_t from = phases->orders[at] >> 4 * slot & 15;
            if (from)
                phases->made[at][slot] = jpeg_candidate_from(
                    picture, picture->lookups, words, buffer, 8 * picture->facts->bytes,
                    phases->begin + at, phases->made[at - 1][from - 1].end);
        }
}

static void make_phases(struct jpeg_picture *picture, struct phases *phases, uint32_t rounds,
                        uint32_t first, uint32_t end) {
    uint32_t buffer[JPEG_SUB_WORDS];
    const struct jpeg_words words = { .at = buffer, .stride = 1 };
    phases->begin = first < JPEG_PHASE_OVERLAP ? 0 : first - JPEG_PHASE_OVERLAP;
    phases->count = end - phases->begin;
    for (uint32_t at = 0; at < phases->count; at++)
        for (uint32_t i = 0; i < picture->guesses; i++)
            phases->made[at][i] =
                jpeg_make_candidate(picture, picture->lookups, words, buffer,
                                    8 * picture->facts->bytes, phases->begin + at, i);
    for (uint32_t round = 0; round < rounds && order_phases(picture, phases); round++)
        continue_phases(picture, phases);
    for (uint32_t sub = first; sub < end; sub++) {
        memcpy(picture->candidates + (size_t)sub * JPEG_GUESSES, phases->made[sub - phases->begin],
               sizeof phases->made[0]);
        jpeg_put(picture, sub, phases->made[sub - phases->begin]);
    }
}

void jpeg_parallel_walk_short(struct jpeg_picture *picture, uint32_t rounds) {
    const uint32_t subs =
        picture->facts->flags ? 0 : jpeg_subs(picture->facts->bytes, picture->sub_log2);
    struct phases *phases = calloc(1, sizeof *phases);
    if (!phases) picture->facts->flags |= JPEG_FLAG_REPAIRS;
    for (uint32_t first = 0; phases && first < subs; first += JPEG_PHASE_OWN)
        make_phases(picture, phases, rounds, first,
                    subs - first < JPEG_PHASE_OWN ? subs : first + JPEG_PHASE_OWN);
    free(phases);
}

/* Through blocks of JPEG_PHASE_OWN, by the path from each one's first subsequence. */
void jpeg_parallel_choose_short(struct jpeg_picture *picture, uint32_t subs) {
    const size_t step = sizeof(struct jpeg_candidate) / sizeof(uint32_t);
    uint32_t chosen = 0, path = 0;
    for (uint32_t sub = 1; sub < subs; sub++) {
        const struct jpeg_candidate *its = picture->candidates + (size_t)sub * JPEG_GUESSES;
        const uint32_t next =
            jpeg_path(&its[-JPEG_GUESSES].end, step, &its->start, step, picture->guesses);
        const bool first = sub % JPEG_PHASE_OWN == 1;
        path = first ? next : jpeg_path_join(path, next);
        jpeg_choose(picture, sub, jpeg_path_go(path, chosen));
        if (sub % JPEG_PHASE_OWN == 0) chosen = jpeg_path_go(path, chosen);
    }
}
