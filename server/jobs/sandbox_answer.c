// SPDX-License-Identifier: Apache-2.0
/* How it works. The answer is checked as every worker's is; beside that the values must be the JSON
 * that values_json_write makes of as many numbers as were asked for, however long they are. */
#include "server/jobs/sandbox_answer.h"

#include "server/api/values_json.h"
#include "server/jobs/answer.h"

#include <string.h>

/* The values are checked where the sandbox cannot write: in the front's slot. */
static bool take_bytes(uint8_t *to, const uint8_t *from, const struct job *answer,
                       const struct job *asked) {
    for (int o = 0; o < job_output_count(asked); o++) {
        const struct job_output *output = &answer->outputs[o];
        memcpy(to + output->offset, from + output->offset, output->length);
    }
    memcpy(to + answer->values_offset, from + answer->values_offset, answer->values_length);
    return !asked->value_count || values_json_check((const char *)to + answer->values_offset,
                                                    answer->values_length, asked->value_count);
}

bool sandbox_answer_take(const struct slots *front, int to, const struct slots *own, int from) {
    struct job *job = slot_job(front, to);
    struct job answer;
    job->batch = 1; /* a sandbox runs one job at a time */
    if (answer_copy(&answer, slot_shared_job(own, from), job, slot_span(front)) &&
        (answer.failure.status ||
         take_bytes(slot_bytes(front, to), slot_bytes(own, from), &answer, job))) {
        answer_apply(job, &answer);
        return true;
    }
    fail(&job->failure, STATUS_INTERNAL,
         "the process that runs users' operators gave an answer that cannot be one");
    return false;
}
