// SPDX-License-Identifier: Apache-2.0
/* request.h - one request for work on an image; it knows no socket.
 *
 *     source      upload.h       the body becomes images in a slot, and form fields
 *     settings    settings.h     names and values become a plan and how results are written
 *     job         submit.c       the image's header and the plan become a job, which is submitted
 *     sink        result.h       the job that has come back becomes a body: images, report
 *
 * Used by:  http/exchange.h, which has one for each HTTP request; every file in this folder.
 * Owns:     its slot, until a result takes it over or upload_release; its settings and its hold of
 *           a generation.
 * Fails:    request_submit and request_check_aux with a status and a sentence for the client.
 * Threads:  one at a time: its owner's. While its job is away another thread may call
 *           request_cancel.
 */
#ifndef BURIN_REQUEST_H
#define BURIN_REQUEST_H

#include "server/access/grant.h"
#include "server/request/negotiation.h"
#include "server/request/service.h"
#include "server/request/settings.h"
#include "server/request/upload.h"
#include "server/trace.h"

struct request {
    struct service *service;
    struct job_owner owner; /* waits for its job; set by the maker of the request */
    struct client client;
    int io_thread;                 /* its job comes back through this thread's completion pipe */
    struct generation *generation; /* its operators, while steps may still be planned; else NULL */
    char id[REQUEST_ID_MAX];
    struct trace trace;
    char label[48];     /* the operator, "pipeline", "info"...: for metrics and logs */
    struct grant grant; /* what its key allows */
    struct settings settings;
    struct negotiation accept; /* what its client accepts; set before request_submit */
    enum answer answer;        /* the form of the result; set by request_submit */
    struct upload upload;
    uint64_t pixels; /* of all images that the job reads and makes; set by request_submit */
    int slot;        /* -1: none */
    int64_t start_ns, received_ns; /* when its first and last byte came */
};

static inline struct job *request_job(const struct request *request) {
    return slot_job(request->service->slots, request->slot);
}

/* Holds the present operators, unless the request already holds some. */
void request_hold_operators(struct request *request);

/* Releases the operators: no more steps are planned. A slow client must not hold them for long,
 * since a reload waits for requests with earlier operators. */
void request_release_operators(struct request *request);

/* Releases the operators unless the request may still plan a user's operator. */
void request_release_unplanned(struct request *request);

/* After upload_finish: checks the image's header and every step against the limits, and submits the
 * job. Then the slot belongs to the supervisor until owner.completed is called. Fails as
 * probe_image, the plan and supervisor_submit do. */
enum status request_submit(struct request *request, struct failure *failure);

/* Puts the form's other images, such as masks, into the job. Each must fit a step of WORK (NULL: no
 * plan). STATUS_MISMATCH: one has a different size; also fails as probe_image does. */
struct work;
enum status request_check_aux(struct request *request, const struct work *work,
                              struct failure *failure);

/* The limits of an image's header. */
struct probe_limits request_limits(const struct request *request);

/* Reads the header of the main image, which must be of a type that the grant allows. Fails as
 * probe_image does. */
enum status request_probe(const struct request *request, struct probe *probe,
                          struct failure *failure);

/* Counts a job that was refused or returned with STATUS, if for lack of room or time. */
void request_count_refusal(const struct request *request, enum status status);

/* The result is no longer wanted. A queued job is returned at once, a running one when its worker
 * sees the flag; owner.completed is called in both cases. Any thread. */
void request_cancel(struct request *request);

/* Calls owner.completed for each job that has come back through PIPE, and for finished jobs whose
 * completion was lost: these are looked for every LOST_MS, last at *LOOKED_NS. */
enum { LOST_MS = 200 };
void request_take_completed(struct service *service, int io_thread, int pipe, int64_t *looked_ns);

#endif
