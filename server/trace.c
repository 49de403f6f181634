// SPDX-License-Identifier: Apache-2.0
#include "server/trace.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void trace_random(void *bytes, size_t length) {
    enum { ENOUGH = 1024 };
    static _Thread_local struct {
        uint8_t bytes[ENOUGH];
        size_t left;
    } pool;
    if (pool.left < length) {
        for (pool.left = 0; pool.left < ENOUGH;) { /* a signal may come in between */
            const ssize_t got = getrandom(pool.bytes + pool.left, ENOUGH - pool.left, 0);
            if (got > 0) pool.left += (size_t)got;
        }
    }
    pool.left -= length;
    memcpy(bytes, pool.bytes + pool.left, length);
}

/* LENGTH lower-case hex digits, not all of them zero. */
static bool is_id(const char *text, size_t length) {
    return strspn(text, "0123456789abcdef") >= length && strspn(text, "0") < length;
}

/* VERSION-ID-SPAN-FLAGS. Later versions may add fields, but begin like this one. */
static bool read_parent(struct trace *trace, const char *text) {
    enum { ID = 3, SPAN = 36, FLAGS = 53, END = 55 };
    const size_t length = strlen(text);
    const bool first = strncmp(text, "00", 2) == 0;
    if (length < END || (first ? length > END : length > END && text[END] != '-')) return false;
    if (text[2] != '-' || text[SPAN - 1] != '-' || text[FLAGS - 1] != '-') return false;
    if ((!first && !is_id(text, 2)) || strncmp(text, "ff", 2) == 0) return false;
    if (!is_id(text + ID, TRACE_ID_MAX - 1) || !is_id(text + SPAN, SPAN_ID_MAX - 1)) return false;
    if (strspn(text + FLAGS, "0123456789abcdef") < 2) return false;
    const char low = text[FLAGS + 1];
    memcpy(trace->id, text + ID, TRACE_ID_MAX - 1);
    trace->sampled = (low <= '9' ? low - '0' : low - 'a' + 10) & 1;
    return true;
}

void trace_begin(struct trace *trace, const char *const *parents, int count) {
    uint64_t bits[3];
    memset(trace, 0, sizeof *trace);
    trace_random(bits, sizeof bits);
    bits[0] |= 1; /* no id is zero */
    bits[2] |= 1;
    snprintf(trace->span, sizeof trace->span, "%016llx", (unsigned long long)bits[2]);
    trace->continued = count == 1 && read_parent(trace, parents[0]);
    if (!trace->continued)
        snprintf(trace->id, sizeof trace->id, "%016llx%016llx", (unsigned long long)bits[0],
                 (unsigned long long)bits[1]);
}

void trace_print_parent(const struct trace *trace, char text[TRACE_PARENT_MAX]) {
    snprintf(text, TRACE_PARENT_MAX, "00-%s-%s-0%d", trace->id, trace->span, trace->sampled);
}

/* ---- tracestate: KEY=VALUE, separated by commas */

enum { MEMBERS_MAX = 32, PART_MAX = 256 };

/* A key of LENGTH bytes: "vendor" or "tenant@vendor". */
static bool is_key(const char *text, size_t length) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", digits[] = "0123456789",
                      rest[] = "abcdefghijklmnopqrstuvwxyz0123456789_-*/";
    const char *at = memchr(text, '@', length);
    const size_t tenant = at ? (size_t)(at - text) : length, vendor = at ? length - tenant - 1 : 0;
    if (!length || length > PART_MAX || strspn(text, rest) < tenant) return false;
    if (!at) return strchr(letters, *text);
    return tenant > 0 && tenant <= 241 && vendor > 0 && vendor <= 14 &&
           (strchr(letters, *text) || strchr(digits, *text)) && strchr(letters, at[1]) &&
           strspn(at + 1, rest) >= vendor;
}

static bool is_value(const char *text, size_t length) {
    if (length == 0 || length > PART_MAX || text[length - 1] == ' ') return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == ',' || text[i] == '=') return false;
    return true;
}

/* Whether TEXT is a list of at most MEMBERS_MAX members with different keys; some may be empty. */
static bool is_state(const char *text) {
    struct {
        const char *text;
        size_t length;
    } keys[MEMBERS_MAX];
    int count = 0;
    for (const char *at = text; *(at += strspn(at, " \t,"));) {
        size_t length = strcspn(at, ",");
        const char *next = at + length, *equals = memchr(at, '=', length);
        while (at[length - 1] == ' ' || at[length - 1] == '\t') length--;
        const size_t key = equals ? (size_t)(equals - at) : 0;
        if (count == MEMBERS_MAX || !is_key(at, key) || !is_value(equals + 1, length - key - 1))
            return false;
        for (int i = 0; i < count; i++)
            if (keys[i].length == key && memcmp(keys[i].text, at, key) == 0) return false;
        keys[count].text = at;
        keys[count++].length = key;
        at = next;
    }
    return count > 0;
}

void trace_join_state(const struct trace *trace, const char *const *values, int count,
                      char text[TRACE_STATE_MAX]) {
    size_t length = 0;
    *text = '\0';
    for (int i = 0; trace->continued && i < count && length < TRACE_STATE_MAX; i++)
        length += (size_t)snprintf(text + length, TRACE_STATE_MAX - length, "%s%s",
                                   length ? "," : "", values[i]);
    if (length >= TRACE_STATE_MAX || !is_state(text)) *text = '\0';
}
