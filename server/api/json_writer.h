// SPDX-License-Identifier: Apache-2.0
/* json_writer.h - writes JSON, header values and addresses into memory of fixed size, without the
 * heap, and without printf where every request does so.
 *
 * Used by:  timing_report.c, values_json.c, openapi_json.c, log.c, access/ and http/.
 * Owns:     nothing; the memory is the caller's.
 * Fails:    a piece that does not fit is left out and `full` is set; the text always ends with a
 *           zero byte.
 * Threads:  one at a time.
 */
#ifndef BURIN_JSON_WRITER_H
#define BURIN_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer {
    char *start;
    size_t length, size;
    bool full;
};

struct json_writer json_writer_in(char *memory, size_t size);
void json_writer_add(struct json_writer *json, const char *text);                   /* as it is */
void json_writer_bytes(struct json_writer *json, const char *bytes, size_t length); /* as it is */
void json_writer_number(struct json_writer *json, int64_t number);
void json_writer_unsigned(struct json_writer *json, uint64_t number);
/* Writes the shortest text that reads back as NUMBER, with a point or an exponent; null if it is
 * not finite. Slow. */
void json_writer_double(struct json_writer *json, double number);
void json_writer_ms(struct json_writer *json, double ms); /* three decimals, rounded half up; not
                                                             below 0 */
void json_writer_string(struct json_writer *json, const char *text); /* quoted, escaped, in ASCII */
/* Writes TEXT for an address: all but letters, digits and PLAIN as %XX. */
void json_writer_percent(struct json_writer *json, const char *text, const char *plain);

/* Writes "name": and the value, after a comma unless the member is the first of its object. */
void json_writer_key(struct json_writer *json, const char *name);
void json_writer_key_number(struct json_writer *json, const char *name, int64_t number);
void json_writer_key_ms(struct json_writer *json, const char *name, double ms);
void json_writer_key_string(struct json_writer *json, const char *name, const char *text);

#endif
