// SPDX-License-Identifier: Apache-2.0
/* How it works. TIFF is read entry by entry, each offset checked. For a result, the entries of a
 * directory that are kept are collected and sorted; then the directory is written, and behind it
 * the values and the directories that its entries lead to. */
#include "pipeline/codecs/common/exif.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12 };
/* TIFF's types; EXIF has a SHORT, other writers and readers all four. */
enum { SHORT = 3, LONG = 4, SSHORT = 8, SLONG = 9 };

struct tiff {
    const uint8_t *bytes;
    size_t length;
    bool big_endian;
};

/* Callers have checked that AT + 2 (+ 4) bytes are there. */
static uint32_t read_16(const struct tiff *tiff, size_t at) {
    const uint8_t *b = tiff->bytes + at;
    return tiff->big_endian ? (uint32_t)b[0] << 8 | b[1] : (uint32_t)b[1] << 8 | b[0];
}

static uint32_t read_32(const struct tiff *tiff, size_t at) {
    uint32_t first = read_16(tiff, at), second = read_16(tiff, at + 2);
    return tiff->big_endian ? first << 16 | second : second << 16 | first;
}

static bool open_tiff(struct tiff *tiff, const uint8_t *bytes, size_t length) {
    if (length < 8) return false;
    tiff->bytes = bytes;
    tiff->length = length;
    tiff->big_endian = bytes[0] == 'M';
    return (memcmp(bytes, "MM", 2) == 0 || memcmp(bytes, "II", 2) == 0) && read_16(tiff, 2) == 42;
}

uint8_t exif_orientation(const uint8_t *bytes, size_t length) {
    struct tiff tiff;
    if (!open_tiff(&tiff, bytes, length)) return 1;
    size_t at = read_32(&tiff, 4);
    if (at > length - 2) return 1;
    uint32_t entries = read_16(&tiff, at);
    at += 2;
    for (; entries && length - at >= ENTRY_BYTES; entries--, at += ENTRY_BYTES) {
        if (read_16(&tiff, at) != TAG_ORIENTATION) continue;
        /* One value lies in the entry itself, in the first of its last four bytes. */
        uint32_t value = 0;
        if (read_32(&tiff, at + 4) != 1) return 1;
        switch (read_16(&tiff, at + 2)) {
        case SHORT:
        case SSHORT: value = read_16(&tiff, at + 8); break;
        case LONG:
        case SLONG: value = read_32(&tiff, at + 8); break;
        default: break;
        }
        return value >= 1 && value <= 8 ? (uint8_t)value : 1;
    }
    return 1;
}

/* ---- built anew */

enum {
    ENTRIES_MAX = 256, /* of a directory */
    ENTRIES_READ_MAX = 4096,
    TIFF_HEAD = 8,
    TAG_ARTIST = 0x013b,
    TAG_COPYRIGHT = 0x8298,
};

/* Directories, each reached by an entry of one before it. */
enum directory { IFD0, IFD_EXPOSURE, IFD_PLACE, IFD_INTEROPERABILITY, DIRECTORIES };

static const struct {
    uint16_t tag;
    enum directory from;
} pointers[DIRECTORIES] = { [IFD_EXPOSURE] = { 0x8769, IFD0 },
                            [IFD_PLACE] = { 0x8825, IFD0 },
                            [IFD_INTEROPERABILITY] = { 0xa005, IFD_EXPOSURE } };

struct entry {
    uint16_t tag, type;
    uint32_t count;
    size_t at, bytes;         /* the value in the source */
    enum directory directory; /* that the entry leads to; IFD0: none */
};

struct rebuilt {
    const struct tiff *from;
    enum exif_kept kept;
    uint8_t *bytes;
    size_t used, capacity;
    int entries_left; /* to read: directories may lead to others many times */
    bool full, broken;
};

static void write_16(struct rebuilt *rebuilt, size_t at, uint32_t value) {
    const bool big = rebuilt->from->big_endian;
    rebuilt->bytes[at] = (uint8_t)(big ? value >> 8 : value);
    rebuilt->bytes[at + 1] = (uint8_t)(big ? value : value >> 8);
}

static void write_32(struct rebuilt *rebuilt, size_t at, uint32_t value) {
    const bool big = rebuilt->from->big_endian;
    write_16(rebuilt, at, big ? value >> 16 : value & 0xffff);
    write_16(rebuilt, at + 2, big ? value & 0xffff : value >> 16);
}

/* Entries that a result has not: they describe the stored pixels, thumbnails and their places, lead
 * elsewhere, or belong to a maker, whose offsets mean nothing in another file. */
static bool is_left_out(enum directory directory, uint32_t tag) {
    static const struct {
        uint16_t first, last;
    } stored[] = { { 0x00fe, 0x0106 }, { 0x0111, 0x0111 }, { 0x0115, 0x0117 }, { 0x011c, 0x011c },
                   { 0x013d, 0x013d }, { 0x0140, 0x015b }, { 0x0200, 0x0214 }, { 0x02bc, 0x02bc },
                   { 0x8649, 0x8649 }, { 0x8773, 0x8773 }, { 0xea1c, 0xea1d } };
    if (directory == IFD_EXPOSURE)
        return tag == 0x927c || tag == 0xa002 || tag == 0xa003 || tag == 0xea1c || tag == 0xea1d;
    bool any = false;
    for (size_t i = 0; i < sizeof stored / sizeof *stored && directory == IFD0; i++)
        any |= tag >= stored[i].first && tag <= stored[i].last;
    return any;
}

/* false: the entry at AT makes no sense. */
static bool read_entry(const struct tiff *tiff, size_t at, struct entry *entry) {
    static const uint8_t sizes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4 };
    *entry = (struct entry){ .tag = (uint16_t)read_16(tiff, at),
                             .type = (uint16_t)read_16(tiff, at + 2),
                             .count = read_32(tiff, at + 4) };
    if (!entry->type || entry->type >= sizeof sizes || !entry->count) return false;
    const uint64_t bytes = (uint64_t)sizes[entry->type] * entry->count;
    entry->at = bytes > 4 ? read_32(tiff, at + 8) : at + 8;
    entry->bytes = (size_t)bytes;
    return entry->at <= tiff->length && bytes <= tiff->length - entry->at;
}

static int collect(struct rebuilt *rebuilt, enum directory directory, size_t at,
                   struct entry *entries);

/* Whether ENTRY of DIRECTORY goes into the result. */
static bool is_kept(struct rebuilt *rebuilt, enum directory directory, struct entry *entry) {
    struct entry inner[ENTRIES_MAX];
    if (rebuilt->kept == EXIF_COPYRIGHT)
        return entry->tag == TAG_ARTIST || entry->tag == TAG_COPYRIGHT;
    for (int to = IFD0 + 1; to < DIRECTORIES; to++) {
        if (entry->tag != pointers[to].tag) continue;
        if (directory != pointers[to].from) return false;
        entry->directory = (enum directory)to;
        if (entry->bytes != 4) return false;
        entry->at = read_32(rebuilt->from, entry->at);
        return collect(rebuilt, entry->directory, entry->at, inner) > 0;
    }
    return entry->type != 13 && !is_left_out(directory, entry->tag);
}

static int by_tag(const void *a, const void *b) {
    return ((const struct entry *)a)->tag - ((const struct entry *)b)->tag;
}

/* The entries of the directory at AT that are kept, by their tags; returns their number. */
static int collect(struct rebuilt *rebuilt, enum directory directory, size_t at,
                   struct entry *entries) {
    const struct tiff *tiff = rebuilt->from;
    int count = 0, different = 0;
    if (at > tiff->length || tiff->length - at < 2) {
        rebuilt->broken = true;
        return 0;
    }
    uint32_t left = read_16(tiff, at);
    at += 2;
    for (; left && tiff->length - at >= ENTRY_BYTES && count < ENTRIES_MAX &&
           rebuilt->entries_left-- > 0;
         left--, at += ENTRY_BYTES) {
        const bool sound = read_entry(tiff, at, &entries[count]);
        if (sound && is_kept(rebuilt, directory, &entries[count])) count++;
        rebuilt->broken |= !sound;
    }
    rebuilt->broken |= left > 0;
    qsort(entries, (size_t)count, sizeof *entries, by_tag);
    for (int i = 0; i < count; i++)
        if (!different || entries[i].tag != entries[different - 1].tag)
            entries[different++] = entries[i];
    return different;
}

/* Returns the place of BYTES more bytes, zeroed; values begin at even places. 0: no room. */
static size_t take_room(struct rebuilt *rebuilt, size_t bytes) {
    const size_t at = rebuilt->used + (rebuilt->used & 1);
    rebuilt->full |= at > rebuilt->capacity || bytes > rebuilt->capacity - at;
    if (rebuilt->full) return 0;
    memset(rebuilt->bytes + rebuilt->used, 0, at + bytes - rebuilt->used);
    rebuilt->used = at + bytes;
    return at;
}

static size_t write_directory(struct rebuilt *rebuilt, enum directory directory, size_t from);

static void write_entry(struct rebuilt *rebuilt, const struct entry *entry, size_t at) {
    const bool orientation = entry->tag == TAG_ORIENTATION && !entry->directory;
    write_16(rebuilt, at, entry->tag);
    write_16(rebuilt, at + 2, orientation ? SHORT : entry->directory ? LONG : entry->type);
    write_32(rebuilt, at + 4, orientation || entry->directory ? 1 : entry->count);
    if (orientation) {
        write_16(rebuilt, at + 8, 1);
    } else if (entry->directory) {
        const size_t place = write_directory(rebuilt, entry->directory, entry->at);
        rebuilt->full |= !place;
        write_32(rebuilt, at + 8, (uint32_t)place);
    } else if (entry->bytes <= 4) {
        memcpy(rebuilt->bytes + at + 8, rebuilt->from->bytes + entry->at, entry->bytes);
    } else {
        const size_t place = take_room(rebuilt, entry->bytes);
        write_32(rebuilt, at + 8, (uint32_t)place);
        if (place) memcpy(rebuilt->bytes + place, rebuilt->from->bytes + entry->at, entry->bytes);
    }
}

/* Writes the directory that is at FROM in the source, and returns its place; 0: none. */
static size_t write_directory(struct rebuilt *rebuilt, enum directory directory, size_t from) {
    struct entry entries[ENTRIES_MAX];
    const int count = collect(rebuilt, directory, from, entries);
    const size_t at = count ? take_room(rebuilt, 2 + (size_t)count * ENTRY_BYTES + 4) : 0;
    if (!at) return 0;
    write_16(rebuilt, at, (uint32_t)count);
    for (int i = 0; i < count && !rebuilt->full; i++)
        write_entry(rebuilt, &entries[i], at + 2 + (size_t)i * ENTRY_BYTES);
    return at;
}

size_t exif_rebuild(const uint8_t *bytes, size_t length, enum exif_kept kept, uint8_t *out,
                    size_t capacity, bool *broken) {
    struct tiff tiff;
    struct rebuilt rebuilt = { .from = &tiff,
                               .kept = kept,
                               .bytes = out,
                               .capacity = capacity,
                               .entries_left = ENTRIES_READ_MAX };
    const bool opened = open_tiff(&tiff, bytes, length);
    if (opened && take_room(&rebuilt, TIFF_HEAD) == 0 && !rebuilt.full) {
        memcpy(out, bytes, 4);
        write_32(&rebuilt, 4, TIFF_HEAD);
        if (!write_directory(&rebuilt, IFD0, read_32(&tiff, 4))) rebuilt.used = 0;
    }
    *broken |= !opened || rebuilt.broken || rebuilt.full;
    return rebuilt.full ? 0 : rebuilt.used;
}
