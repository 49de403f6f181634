// SPDX-License-Identifier: Apache-2.0
/* How it works. The child leads its own process group, unless compiler_stay_in_group() keeps it in
 * ours. It has no standard input, none of our files and an environment of three variables; its
 * messages come through a pipe. When the pipe ends, or at the time limit, the child is killed; its
 * exit status gives the result. */
#include "pipeline/skeletons/compiler.h"

#include "pipeline/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* -ffp-contract=off: a * b + c is rounded twice, as on the GPU; the other options fix what C leaves
 * open as the GPU has it. -fno-trapping-math and -fno-math-errno change no result. */
static const char *const cc_options[] = {
    "-std=gnu17",
    "-O3",
    "-march=native",
#ifdef __x86_64__
    "-mprefer-vector-width=512", /* if the CPU has them: windows are 2 to 4 times as fast */
#endif
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-nostdinc",
    "-fwrapv",
    "-fsigned-char",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-Wl,-z,defs",
    "-Wl,-z,relro,-z,now", /* after this only variables are writable: shared_object.c */
    "-Wl,--build-id=none",
    "-Werror=implicit-function-declaration",
    "-Werror=implicit-int",
    "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types",
    "-Werror=return-type",
    "-Werror=vla",
    "-Werror=frame-larger-than=262144", /* a thread's stack is small */
    "-fdiagnostics-color=never",
};
static const char *const tcc_options[] = {
    "-shared", "-nostdlib", "-nostdinc", "-Werror", "-Wimplicit-function-declaration",
};
enum {
    CC_OPTIONS = sizeof cc_options / sizeof *cc_options,
    TCC_OPTIONS = sizeof tcc_options / sizeof *tcc_options,
    OPTIONS_MAX = 32
};

/* ---- which compiler */

/* Looks for NAME in FOLDERS, the PATH, and keeps its real path. */
static bool find_named(const char *folders, const char *name, struct compiler *compiler) {
    for (const char *at = folders; at && *at;) {
        const size_t length = strcspn(at, ":");
        char path[COMPILER_PATH_MAX], *real;
        snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        real = length && *at == '/' && access(path, X_OK) == 0 ? realpath(path, NULL) : NULL;
        const bool found = real && strlen(real) < sizeof path;
        if (found) memcpy(path, real, strlen(real) + 1);
        if (found) memcpy(compiler->path, path, sizeof path);
        free(real);
        if (found) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static const char *search_path(void) {
    const char *path = getenv("PATH");
    return path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
}

bool compiler_find(struct compiler *compiler) {
    static const char *const names[] = { "cc", "gcc", "clang", "tcc" };
    struct stat facts;
    const char *own = getenv("BURIN_CC"); /* a path; empty: use no compiler */
    *compiler = (struct compiler){ .is_tcc = false };
    bool found = false;
    if (own && *own == '/' && strlen(own) < sizeof compiler->path) {
        memcpy(compiler->path, own, strlen(own) + 1);
        found = access(own, X_OK) == 0;
    }
    for (int i = 0; i < 4 && !own && !found; i++)
        found = find_named(search_path(), names[i], compiler);
    if (!found || stat(compiler->path, &facts) != 0) return false;
    const char *name = strrchr(compiler->path, '/') + 1;
    compiler->is_tcc = strstr(name, "tcc") != NULL;
    snprintf(compiler->identity, sizeof compiler->identity, "%s %lld %lld.%09ld", compiler->path,
             (long long)facts.st_size, (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    return true;
}

static int list_options(const struct compiler *compiler, const char *const **options) {
    *options = compiler->is_tcc ? tcc_options : cc_options;
    return compiler->is_tcc ? TCC_OPTIONS : CC_OPTIONS;
}

const char *compiler_options(const struct compiler *compiler) {
    static char text[2][1024];
    const char *const *options;
    char *out = text[compiler->is_tcc];
    size_t used = 0;
    const int count = list_options(compiler, &options);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, sizeof *text - used, "%s ", options[i]);
    return out;
}

/* ---- the child */

static bool in_our_group;
static struct { long cpu_ms, bytes; } limits = { 30000, 1L << 30 };

void compiler_limit(long cpu_ms, long bytes) {
    limits.cpu_ms = cpu_ms;
    limits.bytes = bytes;
}

void compiler_stay_in_group(void) {
    in_our_group = true;
}

static void limit(int resource, rlim_t most) {
    const struct rlimit both = { most, most };
    setrlimit(resource, &both);
}

/* Runs in the child and does not return. */
static void become_compiler(const struct compiler *compiler, const char *directory, int out) {
    const char *const *options;
    const char *arguments[OPTIONS_MAX + 5];
    char path[COMPILER_PATH_MAX + 8], temporary[COMPILER_PATH_MAX + 8];
    int count = 0;
    const int option_count = list_options(compiler, &options);
    arguments[count++] = compiler->path;
    for (int i = 0; i < option_count; i++) arguments[count++] = options[i];
    arguments[count++] = "-o";
    arguments[count++] = "twin.so";
    arguments[count++] = "twin.c";
    arguments[count] = NULL;
    snprintf(path, sizeof path, "PATH=%s", search_path());
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", directory);
    char *environment[] = { path, temporary, (char[]){ "LC_ALL=C" }, NULL };
    const int nothing = open("/dev/null", O_RDONLY);
    if (!in_our_group) setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* our process may be killed */
    limit(RLIMIT_CPU, (rlim_t)(limits.cpu_ms + 999) / 1000);
    limit(RLIMIT_AS, (rlim_t)limits.bytes);
    limit(RLIMIT_FSIZE, 32 << 20);
    limit(RLIMIT_CORE, 0);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ||
        chdir(directory) != 0)
        _exit(126);
    close_range(3, ~0u, 0);
    execve(compiler->path, (char *const *)arguments, environment);
    _exit(127);
}

/* ---- waiting for the compiler */

/* Reads the pipe, cut to the size of OUTPUT; false at the time limit. */
static bool read_output(int in, char output[COMPILER_OUTPUT_MAX]) {
    const int64_t deadline = clock_ns() + 2 * limits.cpu_ms * INT64_C(1000000);
    size_t used = 0;
    output[0] = '\0';
    for (;;) {
        char spare[4096];
        const int64_t left = (deadline - clock_ns()) / 1000000;
        struct pollfd ready = { .fd = in, .events = POLLIN };
        const int some = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) return false;
        const ssize_t got = read(in, spare, sizeof spare);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        const size_t room = COMPILER_OUTPUT_MAX - 1 - used;
        const size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(output + used, spare, kept);
        used += kept;
        output[used] = '\0';
    }
}

bool compiler_run(const struct compiler *compiler, const char *directory,
                  char output[COMPILER_OUTPUT_MAX]) {
    int ends[2];
    output[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const pid_t child = fork();
    if (child == 0) become_compiler(compiler, directory, ends[1]);
    close(ends[1]);
    bool good = child > 0;
    if (good) {
        if (!in_our_group) setpgid(child, child); /* the child does too; the first call counts */
        const bool in_time = read_output(ends[0], output);
        int status = -1;
        if (!in_time) {
            kill(in_our_group ? child : -child, SIGKILL);
            snprintf(output, COMPILER_OUTPUT_MAX, "the compiler took longer than %ld ms",
                     2 * limits.cpu_ms);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        good = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    close(ends[0]);
    return good;
}
