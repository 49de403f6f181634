// SPDX-License-Identifier: Apache-2.0
/* Each kind of process keeps only the rights it needs once its sandbox is closed: a child closes
 * the sandbox around itself as such a process does, then tries what an attacker in it would try.
 *
 * covers: server/sandbox/sandbox_calls.c server/sandbox/privileges.c
 * covers: server/sandbox/syscall_filter.c */
#include "server/sandbox/sandbox.h"

#include "server/sandbox/sandbox_calls.h"
#include "server/sandbox/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LANDLOCK_CREATE_RULESET = 444 }; /* a system call, of headers that may not know it */
enum { BLOCK = 1 << 20 };               /* bytes */

/* Bits of the child's answer: each is something that it could do. */
enum {
    OPENED = 1,        /* a file of the system's */
    LISTED = 2,        /* the root folder */
    SOCKET = 4,        /* a TCP socket */
    TRACED = 8,        /* ptrace */
    FORKED = 16,       /* a process */
    CODE = 32,         /* memory that is executable */
    READ_OWN = 64,     /* the file in the folder that it may read */
    MADE = 128,        /* a file there */
    KEPT = 256,        /* a file in the folder that it may write, moved from one below it */
    RAN = 512,         /* a shell, by exec */
    WORKS = 1024,      /* memory, a thread, a pipe, clocks */
    PRIVILEGED = 2048, /* a capability, or no-new-privileges is not set */
    SIGNALLED = 4096,  /* its parent */
    OWNED = 8192,      /* a socket whose signals go to its parent */
    CONNECTED = 16384, /* to its parent's abstract socket */
    ENDED = 32768,     /* may signal the one process that it was given */
    LOOKED = 65536,    /* what other processes are: the first, and its parent */
    COUNTED = 131072   /* its own descriptors */
};

static char folder[64], cache[96], outside[96];
static int pair[2];                  /* sockets that it has */
static pid_t beside;                 /* a process that a front or a worker for operators may kill */
static struct sockaddr_un listening; /* an abstract socket that its parent has */
static socklen_t listening_length;

/* ---- what is tried */

static int opens(const char *path, int flags) {
    const int fd = open(path, flags, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void *thread_main(void *argument) {
    return argument;
}

static bool works(void) {
    char byte = 'x';
    struct timespec now;
    pthread_t thread;
    void *volatile block = malloc(BLOCK); /* by mmap */
    void *joined = NULL;
    if (!block) return false;
    memset(block, 1, BLOCK);
    free(block);
    return pthread_create(&thread, NULL, thread_main, &byte) == 0 &&
           pthread_join(thread, &joined) == 0 && joined == &byte &&
           clock_gettime(CLOCK_MONOTONIC, &now) == 0 && usleep(1) == 0;
}

static bool keeps(void) {
    char below[128], from[160], to[160];
    snprintf(below, sizeof below, "%s/work", cache);
    snprintf(from, sizeof from, "%s/file", below);
    snprintf(to, sizeof to, "%s/file", cache);
    return mkdir(below, 0700) == 0 && opens(from, O_WRONLY | O_CREAT) && rename(from, to) == 0 &&
           rmdir(below) == 0 && unlink(to) == 0;
}

static bool forks(void) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    return child > 0;
}

static bool is_privileged(void) {
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    /* On some kernels the front needs CAP_NET_ADMIN for its filter of connections: sandbox.c. */
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || syscall(SYS_capget, &header, sets) != 0 ||
           (sets[0].permitted & ~(1u << CAP_NET_ADMIN)) || sets[1].permitted;
}

static bool owns(void) {
    const struct f_owner_ex owner = { F_OWNER_PID, getppid() };
    return fcntl(pair[0], F_SETOWN, getppid()) == 0 || fcntl(pair[0], F_SETSIG, SIGKILL) == 0 ||
           fcntl(pair[0], F_SETOWN_EX, &owner) == 0 || ioctl(pair[0], FIOSETOWN, &owner.pid) == 0 ||
           ioctl(pair[0], SIOCSPGRP, &owner.pid) == 0;
}

static bool looks(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)getppid());
    return opens("/proc/1/cmdline", O_RDONLY) || opens(path, O_RDONLY) ||
           opens("/proc", O_RDONLY | O_DIRECTORY);
}

static bool connects(void) {
    return connect(pair[1], (struct sockaddr *)&listening, listening_length) == 0;
}

static int try_all(void) {
    int done = 0;
    char own[96];
    void *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    snprintf(own, sizeof own, "%s/own", folder);
    done |= code == MAP_FAILED ? 0 : CODE;
    done |= opens("/etc/passwd", O_RDONLY) ? OPENED : 0;
    done |= opens("/", O_RDONLY | O_DIRECTORY) ? LISTED : 0;
    done |= socket(AF_INET, SOCK_STREAM, 0) < 0 ? 0 : SOCKET;
    done |= forks() ? FORKED : 0;
    done |= opens(own, O_RDONLY) ? READ_OWN : 0;
    done |= opens(outside, O_WRONLY | O_CREAT) ? MADE : 0;
    done |= keeps() ? KEPT : 0;
    done |= works() ? WORKS : 0;
    done |= kill(getppid(), 0) == 0 ? SIGNALLED : 0;
    done |= kill(beside, 0) == 0 ? ENDED : 0;
    done |= looks() ? LOOKED : 0;
    done |= opens("/proc/self/fd", O_RDONLY | O_DIRECTORY) ? COUNTED : 0;
    done |= owns() ? OWNED : 0;
    done |= connects() ? CONNECTED : 0;
    done |= ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? 0 : TRACED;
    return done;
}

/* ---- a child */

struct result {
    int done;
    bool privileged, exec_refused; /* refused, not failed otherwise */
};

static bool old_kernel; /* without Landlock */
static const char *keys_file = "";

static void be_old_kernel(void) {
    const struct syscall_rule absent = { LANDLOCK_CREATE_RULESET, 0, SYSCALL_ABSENT, 0, { 0 } };
    const struct syscall_filter filter = { .rules = &absent, .rule_count = 1, .refuses = true };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall_filter_enter(&filter)) _exit(3);
}

static void be(enum sandbox_role role, const struct config *config, struct result *result) {
    char *const shell[] = { "sh", "-c", "exit 77", NULL };
    const bool writes = role == SANDBOX_GPU || role == SANDBOX_COMPILER;
    if (old_kernel) be_old_kernel();
    sandbox_limit(role, config, writes ? cache : NULL);
    result->privileged = is_privileged();
    sandbox_filter(role, config, beside);
    result->done = try_all();
    execve("/bin/sh", shell, NULL);
    result->exec_refused = errno == EPERM || errno == EACCES;
    _exit(0);
}

static void make_sockets(void) {
    listening = (struct sockaddr_un){ .sun_family = AF_UNIX };
    pair[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    pair[1] = socket(AF_UNIX, SOCK_STREAM, 0);
    listening_length = sizeof listening;
    assert_int_equal(bind(pair[0], (struct sockaddr *)&listening, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(pair[0], 1), 0);
    assert_int_equal(getsockname(pair[0], (struct sockaddr *)&listening, &listening_length), 0);
}

/* Returns the bits of all that a process of ROLE can do. */
static int tried(enum sandbox_role role, const char *sandbox) {
    struct config config = { .listen = "127.0.0.1:8080" };
    int how = 0;
    snprintf(config.sandbox, sizeof config.sandbox, "%s", sandbox);
    snprintf(config.keys_file, sizeof config.keys_file, "%s", keys_file);
    if (role == SANDBOX_FRONT)
        snprintf(config.operators_dir, sizeof config.operators_dir, "%s", folder);
    struct result *result =
        mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(result, MAP_FAILED);
    unlink(outside);
    make_sockets();
    beside = fork();
    if (beside == 0)
        for (;;) pause();
    const pid_t child = fork();
    if (child == 0) be(role, &config, result);
    /* A traced child stops at exec. */
    while (waitpid(child, &how, 0) == child && WIFSTOPPED(how)) kill(child, SIGKILL);
    kill(beside, SIGKILL);
    while (waitpid(beside, NULL, 0) < 0 && errno == EINTR) continue;
    const bool ran = !result->exec_refused && (!WIFEXITED(how) || WEXITSTATUS(how) == 77);
    const int done = result->done | (ran ? RAN : 0) | (result->privileged ? PRIVILEGED : 0);
    munmap(result, sizeof *result);
    for (int i = 0; i < 2; i++) close(pair[i]);
    return done;
}

/* ---- tests */

/* Masks the bits that this kernel's Landlock, or its absence, cannot refuse. */
static int asked(int done) {
    const int files = OPENED | LISTED | READ_OWN | MADE | KEPT | LOOKED | COUNTED,
              scopes = SIGNALLED | CONNECTED;
    const long version = syscall(444, NULL, 0, 1); /* of Landlock */
    if (version < 6) done &= ~scopes;
    return version >= 2 ? done : done & ~files;
}

static void without_a_sandbox(void **state) {
    (void)state;
    const int done = tried(SANDBOX_CPU, "off");
    const int all = OPENED | LISTED | SOCKET | TRACED | FORKED | CODE | READ_OWN | MADE | KEPT |
                    RAN | WORKS | SIGNALLED | OWNED | CONNECTED | ENDED | LOOKED | COUNTED;
    assert_int_equal(done & all, all);
}

static void the_front(void **state) {
    (void)state;
    assert_int_equal(asked(tried(SANDBOX_FRONT, "on")), asked(READ_OWN | WORKS | ENDED | COUNTED));
}

/* A file of keys in the root folder opens no other file, however its path is written. */
static void the_front_with_keys_in_the_root(void **state) {
    static const char *const paths[] = { "/k.json",        "//k.json", "/./k.json",
                                         "/var/../k.json", "k.json",   "./k.json" };
    char *before = getcwd(NULL, 0);
    (void)state;
    assert_int_equal(chdir("/"), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        keys_file = paths[i];
        assert_int_equal(asked(tried(SANDBOX_FRONT, "on")),
                         asked(READ_OWN | WORKS | ENDED | COUNTED));
    }
    keys_file = "";
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void workers_on_a_cpu(void **state) {
    (void)state;
    assert_int_equal(asked(tried(SANDBOX_CPU, "on")), WORKS);
    assert_int_equal(asked(tried(SANDBOX_OPERATORS, "on")),
                     asked(WORKS | ENDED | LOOKED | COUNTED));
}

/* Returns the bits of what a decoding cell can do; WORKS: take memory, limit that, use a pipe. */
static int cell_does(void) {
    struct failure failure = { 0 };
    struct rlimit data;
    int ends[2], done = 0;
    char byte = 'x';
    if (pipe(ends) || sandbox_calls_confine(CONFINED_CELL, &failure)) return -1;
    uint8_t *memory = malloc(32 * BLOCK);
    if (memory) memset(memory, 1, 32 * BLOCK);
    free(memory);
    if (memory && !getrlimit(RLIMIT_DATA, &data) && !setrlimit(RLIMIT_DATA, &data) &&
        write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1)
        done |= WORKS;
    if (open("/dev/null", O_RDONLY) >= 0) done |= OPENED;
    if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) done |= SOCKET;
    if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0) done |= FORKED;
    if (mmap(NULL, BLOCK, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        done |= CODE;
    if (kill(getppid(), 0) == 0 || getppid() > 0) done |= SIGNALLED;
    execl("/bin/true", "true", NULL);
    return done;
}

static void a_decoding_cell(void **state) {
    (void)state;
    int how = 0;
    const pid_t child = fork();
    if (child == 0) _exit(cell_does() == WORKS ? 42 : 43);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 42); /* 0: it could run a program */
}

static void a_worker_on_a_gpu(void **state) {
    (void)state;
    assert_int_equal(asked(tried(SANDBOX_GPU, "on")),
                     asked(CODE | KEPT | WORKS | LOOKED | COUNTED));
}

static void what_compiles(void **state) {
    (void)state;
    assert_int_equal(
        asked(tried(SANDBOX_COMPILER, "on")),
        asked(OPENED | LISTED | FORKED | CODE | READ_OWN | KEPT | RAN | WORKS | LOOKED | COUNTED));
}

/* Without Landlock the other limits still hold, and the process goes on. */
static void on_a_kernel_without_landlock(void **state) {
    (void)state;
    old_kernel = true;
    const int front = tried(SANDBOX_FRONT, "on"), cpu = tried(SANDBOX_CPU, "on"),
              gpu = tried(SANDBOX_GPU, "on");
    old_kernel = false;
    assert_int_equal(front, OPENED | LISTED | READ_OWN | MADE | WORKS | ENDED | LOOKED | COUNTED);
    assert_int_equal(cpu, WORKS);
    assert_int_equal(gpu & ~CONNECTED,
                     OPENED | LISTED | READ_OWN | MADE | KEPT | CODE | WORKS | LOOKED | COUNTED);
}

/* A folder outside /tmp, which a GPU's driver may use and a compiler. */
static int make_folders(void **state) {
    (void)state;
    const int listed = snprintf(folder, sizeof folder, "/var/tmp/burin-sandbox-XXXXXX");
    if (listed < 0 || !mkdtemp(folder)) return -1;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(outside, sizeof outside, "%s/own", folder);
    if (mkdir(cache, 0700) != 0 || !opens(outside, O_WRONLY | O_CREAT)) return -1;
    snprintf(outside, sizeof outside, "%s/new", folder);
    return 0;
}

static int remove_folders(void **state) {
    (void)state;
    char own[96];
    snprintf(own, sizeof own, "%s/own", folder);
    unlink(own);
    unlink(outside);
    rmdir(cache);
    return rmdir(folder);
}

int main(void) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    puts("a sanitizer needs what the sandbox refuses: not tested");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_sandbox), cmocka_unit_test(the_front),
        cmocka_unit_test(a_decoding_cell),   cmocka_unit_test(the_front_with_keys_in_the_root),
        cmocka_unit_test(workers_on_a_cpu),  cmocka_unit_test(a_worker_on_a_gpu),
        cmocka_unit_test(what_compiles),     cmocka_unit_test(on_a_kernel_without_landlock),
    };
    return cmocka_run_group_tests_name("sandbox", tests, make_folders, remove_folders);
}
