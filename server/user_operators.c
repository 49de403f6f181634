// SPDX-License-Identifier: Apache-2.0
/* How it works. The texts are kept in the order in which their operators were registered, so that a
 * worker that registers them again finds the same names free; each is its length and its path's,
 * both as 64 bits, then path and text with a NUL behind each. The process that checks a file gets
 * its bytes through a memfd: nobody can change them between the check and their use. */
#include "server/user_operators.h"

#include "cuda/skeletons/kernel_library.h"
#include "pipeline/skeletons/operators_dir.h"
#include "pipeline/skeletons/reader.h"
#include "pipeline/skeletons/twin.h"
#include "pipeline/skeletons/twin_cache.h"
#include "server/jobs/process.h"
#include "server/log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CHECK_CPU_S = 20, OUTPUT_MAX = 32 << 10 };

/* The front's. */
static struct {
    char *bytes;
    size_t length;
} accepted;

static void log_sentence(void *context, const char *sentence) {
    (void)context;
    log_event(LOG_ERROR, "%s", sentence);
}

static void print_sentence(void *context, const char *sentence) {
    (void)context;
    printf("%s\n", sentence);
}

static struct operators_options options_of(const char *cache, size_t bytes_max) {
    return (struct operators_options){ .cache = *cache ? cache : twin_cache_default(),
                                       .bytes_max = bytes_max,
                                       .tell = log_sentence };
}

static struct operators_options options_in(const struct config *config) {
    return options_of(config->operators_cache_dir, (size_t)config->operators_source_bytes_max);
}

/* ---- the process that checks */

static bool read_text(char *text, size_t size, size_t *length) {
    ssize_t got = 1;
    *length = 0;
    while (*length < size && got > 0) {
        got = read(STDIN_FILENO, text + *length, size - *length);
        if (got > 0) *length += (size_t)got;
    }
    return got == 0;
}

int user_operators_check(const char *name, const char *cache, size_t bytes_max) {
    struct operators_options options = options_of(cache, bytes_max);
    struct rlimit cpu;
    size_t length;
    enum twin_state state;
    options.tell = print_sentence;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    if (getrlimit(RLIMIT_CPU, &cpu) == 0) {
        cpu.rlim_cur = CHECK_CPU_S; /* the compiler sets a limit of its own */
        setrlimit(RLIMIT_CPU, &cpu);
    }
    char *text = calloc(1, bytes_max + 2);
    const bool whole = text && read_text(text, bytes_max + 1, &length);
    struct user_file *file =
        whole ? operators_dir_make(name, text, length, &options, &state) : NULL;
    free(text);
    if (file && state == TWIN_NO_COMPILER)
        printf("%s: not used on the CPU: there is no C compiler (cc, gcc, clang or tcc)\n", name);
    fflush(stdout);
    const bool right = file != NULL;
    reader_destroy(file);
    return right ? 0 : 1;
}

/* ---- the front */

static void log_lines(char *output) {
    char *rest = output;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) log_event(LOG_ERROR, "%s", line);
}

/* What the process says is logged. */
static bool check(const struct config *config, const char *path, const char *bytes, size_t length) {
    char most[24], *output = malloc(OUTPUT_MAX);
    const char *why = NULL;
    const int fd = memfd_create("burin-operators", MFD_CLOEXEC);
    snprintf(most, sizeof most, "%ld", config->operators_source_bytes_max);
    char *const arguments[] = {
        "burin", "worker", "--check", (char *)path, (char *)config->operators_cache_dir, most, NULL
    };
    bool good = false;
    if (!output || fd < 0 || write(fd, bytes, length) != (ssize_t)length ||
        lseek(fd, 0, SEEK_SET) != 0)
        why = "there is no memory to check it";
    else if (process_check(arguments, fd, USER_OPERATORS_CHECK_MS, output, OUTPUT_MAX, &good))
        log_lines(output);
    else
        why = "the process that checks it crashed, or took too long";
    if (why) log_event(LOG_ERROR, "%s: not used: %s", path, why);
    if (fd >= 0) close(fd);
    free(output);
    return good;
}

static void put(char **at, const void *bytes, size_t length) {
    memcpy(*at, bytes, length);
    *at += length;
}

/* PATH and BYTES end with NUL. */
static bool keep(const char *path, const char *bytes, size_t length) {
    const uint64_t sizes[2] = { strlen(path) + 1, length + 1 };
    const size_t more = sizeof sizes + sizes[0] + sizes[1];
    char *fresh = realloc(accepted.bytes, accepted.length + more);
    if (!fresh) return false;
    char *at = fresh + accepted.length;
    put(&at, sizes, sizeof sizes);
    put(&at, path, sizes[0]);
    put(&at, bytes, sizes[1]);
    accepted.bytes = fresh;
    accepted.length += more;
    return true;
}

struct loading {
    const struct config *config;
    user_operators_progress *progress;
    void *context;
};

/* Only read: its loops stay NULL here, and are never called. */
static void accept_file(void *context, const char *path, const char *bytes, size_t length) {
    const struct loading *loading = context;
    const struct operators_options options = options_in(loading->config);
    struct diagnostics diagnostics;
    if (length > options.bytes_max) {
        log_event(LOG_ERROR, "%s: not used: it is longer than operators_source_bytes_max, %zu",
                  path, options.bytes_max);
        return;
    }
    if (loading->progress) loading->progress(loading->context, path);
    if (!check(loading->config, path, bytes, length)) return;
    struct user_file *file = reader_read(path, bytes, length, options.bytes_max, &diagnostics);
    if (!file) {
        operators_dir_tell(&options, &diagnostics); /* another file has an operator of that name */
    } else if (!keep(path, bytes, length)) {
        log_event(LOG_ERROR, "%s: not used: out of memory", path);
        reader_destroy(file);
    } else {
        twin_fill(file);
        const int added = operators_dir_add(file, &options);
        log_event(LOG_INFO, "%s: %d operator%s", path, added, added == 1 ? "" : "s");
    }
}

enum status user_operators_load(const struct config *config, user_operators_progress *progress,
                                void *context, struct failure *failure) {
    const struct operators_options options = options_in(config);
    struct loading loading = { config, progress, context };
    if (!*config->operators_dir ||
        operators_dir_each(config->operators_dir, &options, accept_file, &loading, failure))
        return STATUS_OK;
    return STATUS_BAD_PARAM;
}

struct user_operators_texts user_operators_texts(void) {
    return (struct user_operators_texts){ accepted.bytes, accepted.length };
}

/* ---- a worker */

void user_operators_open(const struct user_operators_texts *texts, const struct config *config) {
    const struct operators_options options = options_in(config);
    kernel_library_keep_in(options.cache);
    for (const char *at = texts->bytes, *end = at + texts->length; at < end;) {
        uint64_t sizes[2];
        memcpy(sizes, at, sizeof sizes);
        const char *path = at + sizeof sizes, *bytes = path + sizes[0];
        struct user_file *file = operators_dir_make(path, bytes, sizes[1] - 1, &options, NULL);
        if (file) operators_dir_add(file, &options);
        at = bytes + sizes[1];
    }
}
