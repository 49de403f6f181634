// SPDX-License-Identifier: Apache-2.0
/* lossy_pipes.c - loaded before the C library (LD_PRELOAD): of the reads and writes on pipes,
 * socket pairs and eventfds, LOSSY_PER_MILLE of a thousand come to nothing. Half of them fail,
 * before anything is read or written; of the others nobody hears: a write says that it is done, and
 * what was read is thrown away. LOSSY_COUNT names a file of 8 bytes in which they are counted.
 * Standard streams are left alone, so is what comes from clients. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_recv)(int, void *, size_t, int);
static ssize_t (*real_send)(int, const void *, size_t, int);
static unsigned per_mille;
static uint64_t *count;

__attribute__((constructor)) static void begin(void) {
    *(void **)&real_read = dlsym(RTLD_NEXT, "read");
    *(void **)&real_write = dlsym(RTLD_NEXT, "write");
    *(void **)&real_recv = dlsym(RTLD_NEXT, "recv");
    *(void **)&real_send = dlsym(RTLD_NEXT, "send");
    const char *text = getenv("LOSSY_PER_MILLE"), *path = getenv("LOSSY_COUNT");
    per_mille = text ? (unsigned)atoi(text) : 10;
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) count = memory;
    if (fd >= 0) close(fd);
}

static uint32_t random_below(uint32_t most) {
    static _Thread_local uint64_t state;
    struct timespec now;
    if (!state) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        state = (uint64_t)now.tv_nsec * 2654435761u + (uint64_t)gettid() + 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % most;
}

static bool is_internal(int fd) {
    struct stat facts;
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    if (fd <= STDERR_FILENO || fstat(fd, &facts) != 0) return false;
    if (S_ISSOCK(facts.st_mode))
        return getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.ss_family == AF_UNIX;
    return S_ISFIFO(facts.st_mode) || (facts.st_mode & S_IFMT) == 0; /* an eventfd has no type */
}

enum fate { DONE, FAILS, LOST };

static enum fate fate_of(int fd) {
    if (random_below(1000) >= per_mille || !is_internal(fd)) return DONE;
    if (count) __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    errno = EIO;
    return random_below(2) ? FAILS : LOST;
}

/* GOT bytes were read, and are thrown away; the end of a stream stays one. */
static ssize_t thrown_away(ssize_t got) {
    if (got <= 0) return got;
    errno = EIO;
    return -1;
}

ssize_t read(int fd, void *bytes, size_t size) {
    const enum fate fate = fate_of(fd);
    if (fate == FAILS) return -1;
    return fate == LOST ? thrown_away(real_read(fd, bytes, size)) : real_read(fd, bytes, size);
}

ssize_t recv(int fd, void *bytes, size_t size, int flags) {
    const enum fate fate = fate_of(fd);
    if (fate == FAILS) return -1;
    return fate == LOST ? thrown_away(real_recv(fd, bytes, size, flags))
                        : real_recv(fd, bytes, size, flags);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    const enum fate fate = fate_of(fd);
    return fate == FAILS ? -1 : fate == LOST ? (ssize_t)size : real_write(fd, bytes, size);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    const enum fate fate = fate_of(fd);
    return fate == FAILS ? -1 : fate == LOST ? (ssize_t)size : real_send(fd, bytes, size, flags);
}

/* The C library's headers turn calls with a known buffer size into these. */
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags);

ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room) {
    return size > room ? -1 : read(fd, bytes, size);
}

ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags) {
    return size > room ? -1 : recv(fd, bytes, size, flags);
}
