// SPDX-License-Identifier: Apache-2.0
/* status.h - every way to fail, and the sentence that says so.
 *
 * A function that can fail returns enum status and, where the caller can act on it, writes one
 * sentence into struct failure: what is wrong, and what would be right. Programming errors are
 * asserts, not statuses. server/http/reply.c alone turns a status into HTTP.
 *
 * Used by:  everything.
 * Threads:  any.
 * Limits:   a sentence is cut to the length of `message`, behind a word.
 */
#ifndef BURIN_STATUS_H
#define BURIN_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum status {
    STATUS_OK = 0,
    STATUS_BAD_PARAM,      /* an unknown parameter, or a value out of its range */
    STATUS_BAD_REQUEST,    /* the request itself is malformed: parts, headers, boundary */
    STATUS_NO_KEY,         /* no key, an unknown one, or one that does not hold any more */
    STATUS_FORBIDDEN,      /* the key, or what was signed with it, does not allow this */
    STATUS_EXPIRED,        /* it was signed for a time that is over, or is used */
    STATUS_BODY_TOO_LARGE, /* more bytes than the limit allows */
    STATUS_NOT_AN_IMAGE,   /* not a format that burin reads */
    STATUS_CORRUPT,        /* an image, but damaged or truncated */
    STATUS_TOO_LARGE,      /* an image, but over a limit of pixels, scans or memory */
    STATUS_MISMATCH,       /* two images differ in size but must not, or a mask leaves nothing */
    STATUS_BUSY,           /* the queue is full, the daemon drains, or no worker is healthy */
    STATUS_DEADLINE,       /* not done in the time allowed */
    STATUS_CANCELLED,      /* the client disconnected */
    STATUS_NO_MEMORY,      /* host or device memory could not be allocated */
    STATUS_DEVICE,         /* the device failed */
    STATUS_INTERNAL,       /* any other fault of ours */
    STATUS_COUNT
};

/* Lies in shared memory too, so it holds no pointer. */
struct failure {
    enum status status;
    char message[264];
};

/* Fills FAILURE (may be NULL) and returns STATUS, so that callers write `return fail(...)`. */
enum status fail(struct failure *failure, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prefixes FAILURE's sentence with WHAT, the name of one of several images, where STATUS blames the
 * image; returns STATUS. */
enum status fail_named(const char *what, enum status status, struct failure *failure);

/* One word for logs and metrics: "bad_param", "busy"... */
const char *status_name(enum status status);

#ifdef __cplusplus
}
#endif
#endif
