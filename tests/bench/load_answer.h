// SPDX-License-Identifier: Apache-2.0
/* load_answer.h - reads one answer after the other off a connection, and says whether each is what
 * it was before.
 *
 * How it works. The head is read with the first bytes of the body, for status, Content-Length and
 * type. Of the body the kernel drops all but the last TAIL bytes (MSG_TRUNC): copying them would
 * cost more than all else that the client does. Of an image length, first and last bytes must be
 * those of the first answer to the same file, and every WHOLE_EVERYth is read whole and its sum
 * compared: what the daemon answers is the same each time.
 *
 * Used by:  load.c.
 * Owns:     the head that came in pieces, until answer_release.
 * Threads:  one for each connection and each set of `struct known`.
 */
#ifndef BURIN_LOAD_ANSWER_H
#define BURIN_LOAD_ANSWER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { HEAD_MAX = 65536, HEAD_READ = 4096, FIRST = 16, TAIL = 32, WHOLE_EVERY = 64 };

/* The known facts of one file's answers. */
struct known {
    long length; /* 0: none was an image */
    char first[FIRST], tail[TAIL];
    uint64_t sum; /* of a whole one */
    long answers;
};

struct answer {
    char *head; /* heap: what came of one that came in pieces; room for HEAD_MAX */
    size_t head_length;
    long length, left; /* of the body; left -1: the head is not complete */
    int status;
    bool closes; /* the connection ends with it */
    bool image, whole, wrong;
    char first[FIRST], tail[TAIL];
    uint64_t sum;
    struct known *known;
};

enum answer_progress { ANSWER_BROKEN = -1, ANSWER_MORE, ANSWER_COMPLETE };

static void answer_begin(struct answer *answer, struct known *known) {
    char *head = answer->head;
    *answer = (struct answer){ .head = head, .left = -1, .known = known };
    answer->whole = known->answers++ % WHOLE_EVERY == 0;
}

static void answer_release(struct answer *answer) {
    free(answer->head);
    answer->head = NULL;
}

/* A sum that the order of the bytes changes, and the pieces that they come in do not. */
static void answer_add_sum(struct answer *answer, long at, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        answer->sum += (uint64_t)(unsigned char)bytes[i] * (2 * (uint64_t)(at + (long)i) + 1);
}

/* Bytes at the end of what has come. */
static void answer_take_body(struct answer *answer, const char *bytes, size_t length) {
    const long at = answer->length - answer->left;
    const long tail = answer->length - TAIL;
    for (long i = at; i < FIRST && i < at + (long)length; i++) answer->first[i] = bytes[i - at];
    for (long i = at > tail ? at : tail < 0 ? 0 : tail; i < at + (long)length; i++)
        answer->tail[(i - tail) % TAIL] = bytes[i - at];
    if (answer->whole) answer_add_sum(answer, at, bytes, length);
    answer->left -= (long)length;
}

/* Is the head complete in the LENGTH bytes at TEXT, which a zero byte follows? */
static void answer_read_head(struct answer *answer, const char *text, size_t length) {
    const char *end = strstr(text, "\r\n\r\n");
    if (!end) return;
    const char *field = strcasestr(text, "\r\ncontent-length:");
    const char *closing = strcasestr(text, "\r\nconnection: close");
    const char *type = strcasestr(text, "\r\ncontent-type: image/");
    answer->status = atoi(text + 9);
    answer->closes = closing && closing < end;
    answer->image = type && type < end && answer->status == 200;
    answer->length = answer->left = field && field < end ? atol(field + 17) : 0;
    answer_take_body(answer, end + 4, length - (size_t)(end + 4 - text));
}

/* A head that comes in pieces is put together; most come whole, and stay where they were read. */
static bool answer_take_head(struct answer *answer, char *bytes, size_t length) {
    bytes[length] = 0;
    if (!answer->head_length) answer_read_head(answer, bytes, length);
    if (answer->left >= 0) return true;
    if (!answer->head) answer->head = malloc(HEAD_MAX);
    if (!answer->head || answer->head_length + length >= HEAD_MAX) return false;
    memcpy(answer->head + answer->head_length, bytes, length + 1);
    answer->head_length += length;
    answer_read_head(answer, answer->head, answer->head_length);
    return true;
}

/* Compares with the first answer to the same file. */
static void answer_compare(struct answer *answer) {
    struct known *known = answer->known;
    if (!answer->image) return;
    if (!known->length) {
        known->length = answer->length;
        memcpy(known->first, answer->first, FIRST);
        memcpy(known->tail, answer->tail, TAIL);
    }
    if (answer->whole && !known->sum) known->sum = answer->sum;
    answer->wrong = answer->length != known->length || memcmp(known->first, answer->first, FIRST) ||
                    memcmp(known->tail, answer->tail, TAIL) ||
                    (answer->whole && answer->sum != known->sum);
}

static ssize_t answer_receive(struct answer *answer, int fd, char *bytes, size_t room) {
    const size_t left = answer->left > 0 ? (size_t)answer->left : 0;
    if (answer->left < 0) return recv(fd, bytes, HEAD_READ, 0);
    if (answer->whole) return recv(fd, bytes, left < room ? left : room, 0);
    if (left > TAIL) return recv(fd, NULL, left - TAIL, MSG_TRUNC);
    return recv(fd, bytes, left, 0);
}

/* All connections of a thread read into the same BYTES: a client that fills the caches would slow
 * down the server beside it. ROOM: more than HEAD_READ. *RECEIVED grows by what came. */
static enum answer_progress answer_read(struct answer *answer, int fd, char *bytes, size_t room,
                                        uint64_t *received) {
    while (answer->left != 0) {
        const bool dropped = !answer->whole && answer->left > TAIL;
        const ssize_t got = answer_receive(answer, fd, bytes, room);
        if (got < 0) return errno == EAGAIN ? ANSWER_MORE : ANSWER_BROKEN;
        if (got == 0) return ANSWER_BROKEN;
        *received += (uint64_t)got;
        if (dropped)
            answer->left -= got;
        else if (answer->left > 0)
            answer_take_body(answer, bytes, (size_t)got);
        else if (!answer_take_head(answer, bytes, (size_t)got))
            return ANSWER_BROKEN;
    }
    answer_compare(answer);
    return ANSWER_COMPLETE;
}

#endif
