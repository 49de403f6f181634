// SPDX-License-Identifier: Apache-2.0
/* How it works. The file is read as the dynamic linker reads it: by its program headers, never by
 * its sections. Only the entries of the dynamic section that a twin needs are accepted, and only
 * relocations that add an address, to symbols that are no IFUNC. Addresses are looked up in the
 * loaded segments, and anything not wholly in one is refused. The part that becomes read-only after
 * loading (RELRO) must be the only writable one. Sections serve only to find the name of a
 * variable. */
#include "pipeline/skeletons/shared_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char not_ours[] = "it is no shared object as a C compiler makes it";
static const char runs_code[] =
    "code of it would run as soon as it is loaded: constructors, destructors, and functions called "
    "_init or _fini are not accepted";
static const char keeps[] =
    "a variable of it would keep its value from one job to the next: what is not const must stand "
    "in a function, without static";
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

/* Returns the LENGTH bytes that will be loaded at ADDRESS; NULL: they are not in the file. */
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

/* Checks that segments lie in the file, in the order of their addresses, without overlap: find()
 * then sees what the dynamic linker will see. Returns the only dynamic one; NULL: refused. */
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
            return not_ours; /* a duplicate: the linker would take the last one */
        dynamic->word[entry->d_tag] = entry->d_un.d_val;
        return NULL;
    case DT_GNU_HASH:
    case DT_RELACOUNT:
    case DT_RELR: /* relative relocations: each adds the load address */
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
    return not_ours; /* no end */
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

/* ---- variables */

enum { PAGE = 4096 };

static bool is_within(const Elf64_Phdr *part, const Elf64_Phdr *whole) {
    return whole && part->p_vaddr >= whole->p_vaddr &&
           part->p_vaddr + part->p_memsz <= whole->p_vaddr + whole->p_memsz;
}

static const Elf64_Phdr *first_of_type(const struct object *object, uint32_t type) {
    for (int i = 0; i < object->segment_count; i++)
        if (object->segments[i].p_type == type) return &object->segments[i];
    return NULL;
}

/* Returns the segment that has a variable; NULL: none. */
static const Elf64_Phdr *variables_in(const struct object *object) {
    const Elf64_Phdr *sealed = first_of_type(object, PT_GNU_RELRO);
    const Elf64_Phdr *own = first_of_type(object, PT_TLS); /* each thread's */
    for (int i = 0; i < object->segment_count && sealed && !own; i++) {
        const Elf64_Phdr *one = &object->segments[i];
        const bool writable = one->p_type == PT_LOAD && (one->p_flags & PF_W) && one->p_memsz;
        if (writable && !is_within(one, sealed)) own = one;
    }
    return own;
}

/* Returns section NUMBER if it lies wholly in the file. */
static const Elf64_Shdr *section_of(const struct object *object, uint64_t number) {
    const Elf64_Ehdr *header = (const void *)object->bytes;
    const size_t size = sizeof(Elf64_Shdr);
    if (header->e_shentsize != size || header->e_shoff % 8 || header->e_shoff > object->size ||
        number >= header->e_shnum || number >= (object->size - header->e_shoff) / size)
        return NULL;
    const Elf64_Shdr *one = (const Elf64_Shdr *)(object->bytes + header->e_shoff) + number;
    const uint64_t bytes = one->sh_type == SHT_NOBITS ? 0 : one->sh_size;
    return one->sh_offset <= object->size && bytes <= object->size - one->sh_offset ? one : NULL;
}

/* Copies a name up to its suffix: a compiler writes kept.0 for the user's kept. */
static void copy_name(const struct object *object, const Elf64_Shdr *names, uint32_t at,
                      char name[SHARED_OBJECT_NAME_MAX]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t used = 0;
    for (; at < names->sh_size && used < SHARED_OBJECT_NAME_MAX - 1; at++, used++) {
        name[used] = (char)object->bytes[names->sh_offset + at];
        if (!name[used] || !strchr(letters, name[used])) break;
    }
    name[used] = '\0';
}

static void name_variable(const struct object *object, const Elf64_Phdr *where,
                          char name[SHARED_OBJECT_NAME_MAX]) {
    const Elf64_Phdr *sealed = first_of_type(object, PT_GNU_RELRO);
    const uint64_t first = where->p_type == PT_TLS ? 0 : where->p_vaddr;
    const Elf64_Shdr *table, *names;
    for (uint64_t n = 1; (table = section_of(object, n)); n++)
        if (table->sh_type == SHT_SYMTAB && table->sh_offset % 8 == 0) break;
    names = table ? section_of(object, table->sh_link) : NULL;
    if (!names || names->sh_type != SHT_STRTAB) return;
    const Elf64_Sym *list = (const void *)(object->bytes + table->sh_offset);
    for (uint64_t i = 0; i < table->sh_size / sizeof *list && !*name; i++) {
        const bool fits =
            ELF64_ST_TYPE(list[i].st_info) == (where->p_type == PT_TLS ? STT_TLS : STT_OBJECT);
        const uint64_t at = list[i].st_value;
        const bool constant = sealed && at >= sealed->p_vaddr &&
                              at - sealed->p_vaddr < sealed->p_memsz && where->p_type != PT_TLS;
        if (fits && at >= first && at - first < where->p_memsz && !constant)
            copy_name(object, names, list[i].st_name, name);
    }
}

bool shared_object_seal(void *library) {
    struct link_map *map;
    bool sealed = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0;
    if (!sealed) return false;
    const uint8_t *start = (const uint8_t *)map->l_addr; /* its own header is loaded first */
    const Elf64_Ehdr *header = (const void *)start;
    const Elf64_Phdr *segments = (const void *)(start + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *one = &segments[i];
        const uint64_t first = one->p_vaddr / PAGE * PAGE;
        if (one->p_type == PT_LOAD && (one->p_flags & PF_W))
            sealed &= mprotect((void *)(start + first), one->p_vaddr + one->p_memsz - first,
                               PROT_READ) == 0;
    }
    return sealed;
}

static const char *check(struct object *object, char variable[SHARED_OBJECT_NAME_MAX]) {
    struct dynamic dynamic = { 0 };
    const Elf64_Phdr *segment = read_header(object) ? check_segments(object) : NULL;
    const char *refusal = segment ? read_dynamic(object, segment, &dynamic) : not_ours;
    if (!refusal && dynamic.word[DT_RELAENT] && dynamic.word[DT_RELAENT] != sizeof(Elf64_Rela))
        refusal = not_ours;
    if (!refusal && dynamic.word[DT_JMPREL] && dynamic.word[DT_PLTREL] != DT_RELA)
        refusal = not_ours;
    if (!refusal) refusal = check_relocations(object, &dynamic, DT_RELA, DT_RELASZ);
    if (!refusal) refusal = check_relocations(object, &dynamic, DT_JMPREL, DT_PLTRELSZ);
    const Elf64_Phdr *variables = refusal ? NULL : variables_in(object);
    if (!variables) return refusal;
    name_variable(object, variables, variable);
    return keeps;
}

const char *shared_object_refusal(const char *path, char variable[SHARED_OBJECT_NAME_MAX]) {
    struct object object = { 0 };
    struct stat facts;
    const char *refusal = "it cannot be read";
    *variable = '\0';
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return refusal;
    if (fstat(fd, &facts) == 0 && facts.st_size > 0 && facts.st_size <= SHARED_OBJECT_BYTES_MAX) {
        object.size = (size_t)facts.st_size;
        void *bytes = mmap(NULL, object.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            object.bytes = bytes;
            refusal = check(&object, variable);
            munmap(bytes, object.size);
        }
    }
    close(fd);
    return refusal;
}
