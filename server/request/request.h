// SPDX-License-Identifier: Apache-2.0
/* request.h - one request for work on an image, without its socket.
 *
 *     source      upload.h       the body becomes images in a slot, and form fields
 *     settings    settings.h     names and values become a plan and how results are written
 *     job         submit.c       the image's header and the plan become a job, which is submitted
 *     sink        result.h       the job that has come back becomes a body: images, report
 *
 * Used by:  http/exchange.h, which holds one for each HTTP request; everything in this folder.
 * Owns:     its slot, until a result takes it over or request_release; its settings and its hold of
 *           a generation.
 * Threads:  one at a time: its owner's. While its job is away another thread may call
 *           request_cancel.
 */
#ifndef BURIN_REQUEST_H
#define BURIN_REQUEST_H

#include "server/request/negotiation.h"
#include "server/request/service.h"
#include "server/request/settings.h"
#include "server/request/upload.h"

struct request {
    struct service *service;
    struct job_owner owner; /* who waits for its job; set by who made the request */
    struct client client;
    int io_thread;                 /* whose completion pipe the job comes back through */
    struct generation *generation; /* its operators, while they may still be planned; else NULL */
    char id[REQUEST_ID_MAX];
    char label[48]; /* the operator, "pipeline", "info"...: for metrics and logs */
    struct settings settings;
    struct negotiation accept; /* which types its client can read; filled before request_submit */
    enum answer answer;        /* what is sent back; set by request_submit */
    struct upload upload;
    int slot;                      /* -1: none */
    int64_t start_ns, received_ns; /* its first byte came, its last one */
};

static inline struct job *request_job(const struct request *request) {
    return slot_job(request->service->slots, request->slot);
}

/* Holds the operators of this moment, unless the request has some already. */
void request_hold_operators(struct request *request);

/* Lets go of the operators: no more steps are planned. A slow client must not keep them, since a
 * reload waits for all who hold the ones before. */
void request_release_operators(struct request *request);

/* Lets go of the operators unless the request may still plan a user's operator. */
void request_release_unplanned(struct request *request);

/* After upload_finish: checks the image's header and every step against the limits, and gives the
 * job to the supervisor. From then on the slot is the supervisor's until owner.completed is called.
 * Fails with what probe_image, the plan and supervisor_submit return. */
enum status request_submit(struct request *request, struct failure *failure);

/* Whether the other images of the form, such as masks, fit some step of WORK; they stand in the job
 * then. WORK: NULL if there is no plan. STATUS_MISMATCH if one has a different size, and what
 * probe_image returns. */
struct work;
enum status request_check_aux(struct request *request, const struct work *work,
                              struct failure *failure);

/* Limits of an image's header, by the configuration. */
struct probe_limits request_limits(const struct request *request);

/* Counts a job that was refused or sent back with STATUS, if it was for lack of room or time. */
void request_count_refusal(const struct request *request, enum status status);

/* Nobody waits for the job any more. A queued job comes back at once, a running one when its worker
 * sees the flag; owner.completed is called either way. */
void request_cancel(struct request *request);

/* Gives back the slot and what else the upload holds, and the operators; any number of times. */
void request_release(struct request *request);

/* Calls owner.completed for each job that has come back through PIPE, or that must have and was
 * lost on the way: these are looked for every LOST_MS, and *LOOKED_NS says when that was last. */
enum { LOST_MS = 200 };
void request_take_completed(struct service *service, int io_thread, int pipe, int64_t *looked_ns);

#endif
