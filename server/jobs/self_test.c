// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/self_test.h"

#include "pipeline/plan.h"
#include "pipeline/run.h"

enum { SIDE = 64 };

/* Computed in Python from the definition of histeq, and equal to OpenCV's equalizeHist. */
static const uint64_t known_answer = 0xa08757c03a3a16b9u;

/* Squares of the high byte of a linear congruential generator: noise with more dark than light. */
static void draw(const struct image *image) {
    uint32_t state = 1;
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            state = state * 1664525u + 1013904223u;
            image_row(image, y)[x] = (uint8_t)(((state >> 24) * (state >> 24)) >> 8);
        }
}

enum status self_test_run(struct lane *lane, struct failure *failure) {
    struct plan plan;
    enum status status = plan_parse(&plan, "histeq", failure);
    struct run_item item = { .in = image_shape(SIDE, SIDE, 1, 8) };
    if (!status) status = run_reserve(lane, &plan, &item, 1, SIDE * SIDE, failure);
    if (status) return status;
    draw(&item.in);
    status = run_batch(lane, &plan, &item, 1, failure);
    if (status) return status;
    if (image_digest(&item.out) != known_answer)
        return fail(failure, STATUS_DEVICE, "the self-test gave a wrong answer");
    return STATUS_OK;
}
