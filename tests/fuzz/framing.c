// SPDX-License-Identifier: Apache-2.0
/* Any bytes of a connection, whole and cut in two ways: the same passes, and what passes holds what
 * framing.h promises, judged here by other means. Input: two bytes for the cuts, then the stream.
 */
#include "server/http/engine/framing.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_MAX = 512 }; /* less than FRAMING_LINES_MAX */

struct outcome {
    size_t passed;
    struct framing framing;
};

static void must(bool truth) {
    if (!truth) abort();
}

/* Like the recv filter: bytes that did not pass come again with STEP bytes more. */
static struct outcome run(const char *text, size_t length, size_t step) {
    struct outcome outcome = { .framing = { .head_max = HEAD_MAX } };
    struct failure failure;
    for (size_t end = 0; end < length && !outcome.framing.refused;) {
        end = end + step < length ? end + step : length;
        const size_t fresh = end - outcome.passed;
        char *exact = malloc(fresh ? fresh : 1);
        memcpy(exact, text + outcome.passed, fresh);
        const size_t passed = framing_pass(&outcome.framing, exact, fresh, &failure);
        must(passed <= fresh);
        outcome.passed += passed;
        must(outcome.framing.refused || end - outcome.passed < FRAMING_LINES_MAX);
        free(exact);
    }
    return outcome;
}

/* Heads that passed end in an empty line and hold no bare line end. */
static void judge(const char *text, const struct outcome *outcome) {
    if (outcome->passed == 0 || outcome->framing.heads == 0) return;
    const char *empty = memmem(text, outcome->passed, "\r\n\r\n", 4);
    must(empty || outcome->framing.refused);
    for (const char *p = text; empty && p < empty; p++) {
        must(*p != '\0');
        must(*p != '\n' || (p > text && p[-1] == '\r'));
        must(*p != '\r' || p[1] == '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const char *text = (const char *)data + 2;
    const size_t length = size - 2;
    const struct outcome whole = run(text, length, length ? length : 1);
    const size_t steps[] = { 1 + data[0] % 64u, 1 + data[1] };
    for (int i = 0; i < 2; i++) {
        const struct outcome cut = run(text, length, steps[i]);
        must(cut.passed == whole.passed && cut.framing.refused == whole.framing.refused);
        must(cut.framing.heads == whole.framing.heads);
    }
    judge(text, &whole);
    return 0;
}
