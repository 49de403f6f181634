// SPDX-License-Identifier: Apache-2.0
/* record.c - notes which function calls which, while a byte of a shared file says so.
 *
 * How it works. hops.py builds the daemon with -finstrument-functions and this file: gcc calls the
 * two hooks at the start and end of each function, inlined ones too. Each thread keeps its stack of
 * open functions, so a callback out of a library has the function that entered the library as its
 * caller. Front and worker map the same file, $HOPS: byte 0 is the switch, then the number of
 * records, then pairs of caller and callee, as offsets in the program. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))

enum { DEPTH_MAX = 256, RECORDS_MAX = 1 << 20 };

struct log {
    uint64_t on, count;
    struct {
        uint64_t caller, callee;
    } records[RECORDS_MAX];
};

extern const char __executable_start;
static struct log *shared;
static __thread void *stack[DEPTH_MAX];
static __thread int depth;

void __cyg_profile_func_enter(void *function, void *site) QUIET;
void __cyg_profile_func_exit(void *function, void *site) QUIET;

static __attribute__((constructor)) QUIET void open_log(void) {
    const char *path = getenv("HOPS");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (memory != MAP_FAILED) shared = memory;
}

static QUIET uint64_t offset_of(const void *function) {
    return function ? (uint64_t)((const char *)function - &__executable_start) : 0;
}

void __cyg_profile_func_enter(void *function, void *site) {
    (void)site;
    if (depth < DEPTH_MAX) stack[depth] = function;
    depth++;
    if (!shared || !__atomic_load_n(&shared->on, __ATOMIC_RELAXED) || depth > DEPTH_MAX) return;
    const uint64_t at = __atomic_fetch_add(&shared->count, 1, __ATOMIC_RELAXED);
    if (at >= RECORDS_MAX) return;
    shared->records[at].caller = offset_of(depth > 1 ? stack[depth - 2] : NULL);
    shared->records[at].callee = offset_of(function);
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)function, (void)site;
    depth--;
}
