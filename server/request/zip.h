// SPDX-License-Identifier: Apache-2.0
/* zip.h - the headers of a ZIP archive whose files are stored as they are.
 *
 * An entry's header stands before its bytes, the directory behind all of them. Nothing in it
 * depends on when it was made: every file is of 1980-01-01, the earliest that there is.
 *
 * Used by:  reply_job.c.
 * Owns:     nothing.
 * Threads:  any; no state.
 * Limits:   an archive of ZIP_BYTES_MAX bytes, without ZIP64; names as the caller has checked them,
 *           in ASCII.
 * Source:   PKWARE's APPNOTE.TXT 6.3.10, 4.3.7, 4.3.12 and 4.3.16.
 */
#ifndef BURIN_ZIP_H
#define BURIN_ZIP_H

#include <stddef.h>
#include <stdint.h>

enum { ZIP_LOCAL_BYTES = 30, ZIP_CENTRAL_BYTES = 46, ZIP_END_BYTES = 22 };
#define ZIP_BYTES_MAX UINT32_MAX

struct zip_entry {
    const char *name;
    uint32_t checksum; /* CRC-32 of its bytes */
    uint32_t length;   /* of them */
    uint32_t offset;   /* of its header in the archive */
};

/* Each writes to OUT and returns how many bytes: those above, and the name behind the first two. */
size_t zip_local(const struct zip_entry *entry, uint8_t *out);
size_t zip_central(const struct zip_entry *entry, uint8_t *out);

/* Of COUNT entries, whose central headers begin at OFFSET and take BYTES. */
size_t zip_end(int count, uint32_t offset, uint32_t bytes, uint8_t *out);

/* CRC-32 of a file that comes in pieces: SUM is that of those before, 0 at first. */
uint32_t zip_checksum(uint32_t sum, const void *bytes, size_t length);

#endif
