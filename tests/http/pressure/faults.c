// SPDX-License-Identifier: Apache-2.0
/* A library that is loaded before all others, into the daemon and its workers, and makes calls fail
 * as often as a page says that faults.py shares with them: memory, descriptors, space in files; and
 * that sets clocks. A wait until a time of such a clock is one until the same time of the real one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum fault { MEMORY, PAGES, DESCRIPTORS, SPACE, FAULTS };

/* In the order in which faults.py packs it. */
struct control {
    uint32_t of_a_million[FAULTS];
    uint32_t process; /* the one that is spared; 0: none */
    uint32_t unused;
    int64_t realtime_ns, monotonic_ns, boottime_ns; /* that clocks are ahead */
    uint64_t made[FAULTS];
};

static struct control *control;
static int main_began; /* what libraries do before is theirs: CUDA's dies of the first failure */
static _Thread_local uint64_t chance; /* 0: not seeded */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_PAGE");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *page = (void *)syscall(SYS_mmap, NULL, sizeof *control, PROT_READ | PROT_WRITE,
                                 MAP_SHARED, fd, 0L);
    close(fd);
    if (page != MAP_FAILED) control = page;
}

/* Whether this call is one that fails. */
static int fails(enum fault fault) {
    if (!control || !main_began) return 0;
    const uint32_t often = __atomic_load_n(&control->of_a_million[fault], __ATOMIC_RELAXED);
    if (!often || control->process == (uint32_t)getpid()) return 0;
    if (!chance) chance = (uint64_t)syscall(SYS_gettid) * 0x9e3779b97f4a7c15 | 1;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    if ((chance >> 20) % 1000000 >= often) return 0;
    __atomic_add_fetch(&control->made[fault], 1, __ATOMIC_RELAXED);
    return 1;
}

static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* ---- main */

typedef int main_function(int count, char **arguments, char **environment);
static main_function *real_main;

static int begin_main(int count, char **arguments, char **environment) {
    main_began = 1;
    return real_main(count, arguments, environment);
}

/* The C library's, which calls constructors and then main. */
int __libc_start_main(main_function *run_main, int count, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *run_main, int count, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    int (*real)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                void *);
    *(void **)&real = next("__libc_start_main");
    real_main = run_main;
    return real(begin_main, count, arguments, init, fini, rtld_fini, stack_end);
}

/* ---- memory */

void *malloc(size_t size) {
    if (fails(MEMORY)) return errno = ENOMEM, NULL;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (fails(MEMORY)) return errno = ENOMEM, NULL;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    if (fails(MEMORY)) return errno = ENOMEM, NULL;
    return __libc_realloc(block, size);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    if (fails(PAGES)) return errno = ENOMEM, MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

void *mremap(void *at, size_t length, size_t wanted, int flags, ...) {
    if (fails(PAGES)) return errno = ENOMEM, MAP_FAILED;
    return (void *)syscall(SYS_mremap, at, length, wanted, flags, NULL);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = next("pthread_create");
    return fails(PAGES) ? EAGAIN : real(thread, attributes, run, argument);
}

/* ---- descriptors */

static int no_descriptor(void) {
    if (!fails(DESCRIPTORS)) return 0;
    errno = EMFILE;
    return 1;
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return no_descriptor() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int socket(int domain, int type, int protocol) {
    return no_descriptor() ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int ends[2]) {
    return no_descriptor() ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, ends);
}

/* Fails as the system does without a descriptor: the connection stays in the backlog. */
int accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags) {
    return no_descriptor() ? -1
                           : (int)syscall(SYS_accept4, fd, address.__sockaddr__, length, flags);
}

int pipe2(int ends[2], int flags) {
    return no_descriptor() ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

int eventfd(unsigned value, int flags) {
    return no_descriptor() ? -1 : (int)syscall(SYS_eventfd2, value, flags);
}

int memfd_create(const char *name, unsigned flags) {
    return no_descriptor() ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int epoll_create1(int flags) {
    return no_descriptor() ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

/* ---- space: of files, shared memory and the log alone */

static int no_space(int fd) {
    struct stat facts;
    if (!control || !control->of_a_million[SPACE]) return 0;
    const int file = fd == STDERR_FILENO || (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode));
    if (!file || !fails(SPACE)) return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    return no_space(fd) ? -1 : syscall(SYS_write, fd, bytes, length);
}

int ftruncate(int fd, off_t length) {
    return no_space(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
    return no_space(fd) ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

/* ---- clocks */

static int64_t ahead(clockid_t clock) {
    if (!control) return 0;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return __atomic_load_n(&control->realtime_ns, __ATOMIC_RELAXED);
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE: return __atomic_load_n(&control->monotonic_ns, __ATOMIC_RELAXED);
    case CLOCK_BOOTTIME: return __atomic_load_n(&control->boottime_ns, __ATOMIC_RELAXED);
    default: return 0;
    }
}

static void move(struct timespec *time, int64_t ns) {
    const int64_t all = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + ns;
    *time = all < 0 ? (struct timespec){ 0, 0 }
                    : (struct timespec){ all / 1000000000, all % 1000000000 };
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int result = (int)syscall(SYS_clock_gettime, clock, time);
    const int64_t ns = result == 0 ? ahead(clock) : 0;
    if (ns) move(time, ns);
    return result;
}

int gettimeofday(struct timeval *time, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds) *seconds = now.tv_sec;
    return now.tv_sec;
}

/* The real time of UNTIL, whose size shows its clock: only the realtime clock began in 1970. */
static struct timespec real_time(const struct timespec *until) {
    struct timespec real = *until;
    const clockid_t clock = until->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    if (ahead(clock)) move(&real, -ahead(clock));
    return real;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!wait) *(void **)&wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    const struct timespec real = real_time(until);
    return wait(condition, mutex, &real);
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until) {
    static int (*wait)(sem_t *, clockid_t, const struct timespec *);
    if (!wait) *(void **)&wait = next("sem_clockwait");
    const struct timespec real = real_time(until);
    return wait(semaphore, clock, &real);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
                    struct timespec *left) {
    struct timespec real = *span;
    if (flags & TIMER_ABSTIME && ahead(clock)) move(&real, -ahead(clock));
    return syscall(SYS_clock_nanosleep, clock, flags, &real, left) == 0 ? 0 : errno;
}
