// SPDX-License-Identifier: Apache-2.0
/* How it works. The file is read as the dynamic linker reads it: by its program headers, never by
 * its sections. Of the dynamic section's entries those are accepted that a twin needs, and no
 * other; of the relocations those that only add an address, to symbols that are no IFUNC. Addresses
 * are looked up in the loaded segments, and all that is not wholly in one is refused. */
#include "pipeline/skeletons/shared_object.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char not_ours[] = "it is no shared object as a C compiler makes it";
static const char runs_code[] =
    "code of it would run as soon as it is loaded: constructors, destructors, and functions called "
    "_init or _fini are not accepted";
static const char needs_others[] = "it needs another library, or asks for what no operator needs";

/* Relocations that store a symbol's address or an address of the object itself. */
#if defined __x86_64__
static const uint32_t plain[] = { R_X86_64_NONE, R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT,
                                  R_X86_64_RELATIVE };
enum { MACHINE = EM_X86_64 };
#elif defined __aarch64__
static const uint32_t plain[] = { R_AARCH64_NONE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
                                  R_AARCH64_JUMP_SLOT, R_AARCH64_RELATIVE };
enum { MACHINE = EM_AARCH64 };
#else
#error "which relocations of this machine are plain?"
#endif

struct object {
    const uint8_t *bytes;
    size_t size;
    const Elf64_Phdr *segments;
    int segment_count;
};

/* LENGTH bytes that will be loaded at ADDRESS; NULL: they are not in the file. */
static const void *find(const struct object *object, uint64_t address, uint64_t length) {
    for (int i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *one = &object->segments[i];
        if (one->p_type != PT_LOAD || address < one->p_vaddr) continue;
        const uint64_t at = address - one->p_vaddr;
        if (at <= one->p_filesz && length <= one->p_filesz - at)
            return object->bytes + one->p_offset + at;
    }
    return NULL;
}

static bool read_header(struct object *object) {
    const Elf64_Ehdr *header = (const void *)object->bytes;
    if (object->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_DYN || header->e_machine != MACHINE ||
        header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff % 8 ||
        header->e_phoff > object->size ||
        header->e_phnum > (object->size - header->e_phoff) / sizeof(Elf64_Phdr))
        return false;
    object->segments = (const void *)(object->bytes + header->e_phoff);
    object->segment_count = header->e_phnum;
    return true;
}

/* Segments lie in the file, in the order of their addresses, and do not overlap: find() sees what
 * the dynamic linker will see. Returns the only dynamic one; NULL: it is not so. */
static const Elf64_Phdr *check_segments(const struct object *object) {
    const Elf64_Phdr *dynamic = NULL;
    uint64_t end = 0;
    for (int i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *one = &object->segments[i];
        if (one->p_offset > object->size || one->p_filesz > object->size - one->p_offset ||
            one->p_vaddr > UINT32_MAX || one->p_memsz > UINT32_MAX || one->p_filesz > one->p_memsz)
            return NULL;
        if (one->p_type == PT_DYNAMIC && dynamic) return NULL;
        if (one->p_type == PT_DYNAMIC) dynamic = one;
        if (one->p_type != PT_LOAD) continue;
        if (one->p_vaddr < end) return NULL;
        end = one->p_vaddr + one->p_memsz;
    }
    return dynamic;
}

/* ---- the dynamic section */

enum { WORDS = DT_BIND_NOW + 1 };

struct dynamic {
    uint64_t word[WORDS]; /* by tag; 0: not there */
};

static const char *take_entry(const Elf64_Dyn *entry, struct dynamic *dynamic) {
    switch (entry->d_tag) {
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
    case DT_INIT_ARRAYSZ:
    case DT_FINI_ARRAYSZ:
    case DT_PREINIT_ARRAYSZ: return runs_code;
    case DT_PLTRELSZ:
    case DT_PLTGOT:
    case DT_HASH:
    case DT_STRTAB:
    case DT_SYMTAB:
    case DT_RELA:
    case DT_RELASZ:
    case DT_RELAENT:
    case DT_STRSZ:
    case DT_SYMENT:
    case DT_SYMBOLIC:
    case DT_PLTREL:
    case DT_JMPREL:
    case DT_BIND_NOW:
        if (dynamic->word[entry->d_tag])
            return not_ours; /* two of them: the linker takes the last */
        dynamic->word[entry->d_tag] = entry->d_un.d_val;
        return NULL;
    case DT_GNU_HASH:
    case DT_RELACOUNT:
    case DT_RELR: /* these have no type: each adds the address at which it is loaded */
    case DT_RELRSZ:
    case DT_RELRENT:
    case DT_AARCH64_BTI_PLT:
    case DT_AARCH64_PAC_PLT:
    case DT_AARCH64_VARIANT_PCS:
    case DT_FLAGS:
    case DT_FLAGS_1: return NULL;
    default: return needs_others;
    }
}

static const char *read_dynamic(const struct object *object, const Elf64_Phdr *segment,
                                struct dynamic *dynamic) {
    const size_t count = segment->p_filesz / sizeof(Elf64_Dyn);
    const Elf64_Dyn *list = find(object, segment->p_vaddr, segment->p_filesz);
    if (!list || (uintptr_t)list % 8) return not_ours;
    for (size_t i = 0; i < count; i++) {
        if (list[i].d_tag == DT_NULL) return NULL;
        const char *refusal = take_entry(&list[i], dynamic);
        if (refusal) return refusal;
    }
    return not_ours; /* it has no end */
}

/* ---- relocations */

static bool is_plain(uint64_t type) {
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plain[i] == type) return true;
    return false;
}

static const char *check_relocations(const struct object *object, const struct dynamic *dynamic,
                                     int table, int size) {
    const size_t count = dynamic->word[size] / sizeof(Elf64_Rela);
    const Elf64_Rela *list = find(object, dynamic->word[table], dynamic->word[size]);
    if (!count) return NULL;
    if (!list || (uintptr_t)list % 8) return not_ours;
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = ELF64_R_SYM(list[i].r_info);
        const Elf64_Sym *symbol =
            find(object, dynamic->word[DT_SYMTAB] + number * sizeof *symbol, sizeof *symbol);
        if (!symbol || (uintptr_t)symbol % 8) return not_ours;
        if (!is_plain(ELF64_R_TYPE(list[i].r_info)) ||
            ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
            return runs_code;
    }
    return NULL;
}

static const char *check(struct object *object) {
    struct dynamic dynamic = { 0 };
    const Elf64_Phdr *segment = read_header(object) ? check_segments(object) : NULL;
    const char *refusal = segment ? read_dynamic(object, segment, &dynamic) : not_ours;
    if (!refusal && dynamic.word[DT_RELAENT] && dynamic.word[DT_RELAENT] != sizeof(Elf64_Rela))
        refusal = not_ours;
    if (!refusal && dynamic.word[DT_JMPREL] && dynamic.word[DT_PLTREL] != DT_RELA)
        refusal = not_ours;
    if (!refusal) refusal = check_relocations(object, &dynamic, DT_RELA, DT_RELASZ);
    if (!refusal) refusal = check_relocations(object, &dynamic, DT_JMPREL, DT_PLTRELSZ);
    return refusal;
}

const char *shared_object_refusal(const char *path) {
    struct object object = { 0 };
    struct stat facts;
    const char *refusal = "it cannot be read";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return refusal;
    if (fstat(fd, &facts) == 0 && facts.st_size > 0 && facts.st_size <= SHARED_OBJECT_BYTES_MAX) {
        object.size = (size_t)facts.st_size;
        void *bytes = mmap(NULL, object.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            object.bytes = bytes;
            refusal = check(&object);
            munmap(bytes, object.size);
        }
    }
    close(fd);
    return refusal;
}
