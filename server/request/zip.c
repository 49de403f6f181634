// SPDX-License-Identifier: Apache-2.0
#include "server/request/zip.h"

#include <isa-l/crc.h>
#include <string.h>

enum { VERSION = 10, STORED = 0, DATE = 1 << 5 | 1 /* the first of January 1980 */ };

static uint8_t *put16(uint8_t *out, unsigned value) {
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    return out + 2;
}

static uint8_t *put32(uint8_t *out, uint32_t value) {
    return put16(put16(out, value & 0xffff), value >> 16);
}

/* From the version that is needed to the length of what is extra: the same in both headers. */
static uint8_t *put_facts(const struct zip_entry *entry, uint8_t *out) {
    out = put16(out, VERSION);
    out = put16(out, 0); /* flags */
    out = put16(out, STORED);
    out = put16(out, 0); /* time */
    out = put16(out, DATE);
    out = put32(out, entry->checksum);
    out = put32(out, entry->length);
    out = put32(out, entry->length);
    out = put16(out, (unsigned)strlen(entry->name));
    return put16(out, 0);
}

static size_t put_name(const struct zip_entry *entry, uint8_t *start, uint8_t *out) {
    const size_t length = strlen(entry->name);
    memcpy(out, entry->name, length);
    return (size_t)(out - start) + length;
}

size_t zip_local(const struct zip_entry *entry, uint8_t *out) {
    return put_name(entry, out, put_facts(entry, put32(out, 0x04034b50)));
}

size_t zip_central(const struct zip_entry *entry, uint8_t *out) {
    uint8_t *at = put_facts(entry, put16(put32(out, 0x02014b50), VERSION));
    at = put16(at, 0); /* comment */
    at = put16(at, 0); /* disk */
    at = put16(at, 0); /* attributes */
    at = put32(at, 0);
    return put_name(entry, out, put32(at, entry->offset));
}

size_t zip_end(int count, uint32_t offset, uint32_t bytes, uint8_t *out) {
    uint8_t *at = put32(out, 0x06054b50);
    at = put16(at, 0); /* this disk, and that of the directory */
    at = put16(at, 0);
    at = put16(at, (unsigned)count);
    at = put16(at, (unsigned)count);
    at = put32(at, bytes);
    at = put32(at, offset);
    return (size_t)(put16(at, 0) - out);
}

uint32_t zip_checksum(uint32_t sum, const void *bytes, size_t length) {
    return crc32_gzip_refl(sum, bytes, length);
}
