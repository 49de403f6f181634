// SPDX-License-Identifier: Apache-2.0
/* How it works. The folder is read first; then new and changed files are checked, at the start as
 * many at a time as there are cores; then all accepted files become a new generation, in the order
 * of their names. A file with the same text as in the generation before is accepted without a
 * check. Any other is checked in a separate process, which gets the bytes through a memfd, so that
 * the checked bytes are the used ones. For a file that is wrong now, the text of the generation
 * before stays in use. */
#include "server/user_operators.h"

#include "cuda/skeletons/kernel_library.h"
#include "pipeline/pool.h"
#include "pipeline/skeletons/compiler.h"
#include "pipeline/skeletons/operators_dir.h"
#include "pipeline/skeletons/reader.h"
#include "pipeline/skeletons/twin.h"
#include "pipeline/skeletons/twin_cache.h"
#include "pipeline/utf8.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/sandbox/sandbox.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* PROGRESS: checked files per line in the log. */
enum { CHECK_CPU_S = 20, CHECK_SPARE_MS = 30000, OUTPUT_MAX = 32 << 10, PROGRESS = 16 };

/* ---- a command */

static void print_error(void *context, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s\n", sentence);
}

struct operators_options user_operators_options(void) {
    return (struct operators_options){ .cache = twin_cache_default(), .report = print_error };
}

enum status user_operators_load(const char *path, struct failure *failure) {
    const struct operators_options options = user_operators_options();
    kernel_library_keep_in(options.cache);
    if (!path || operators_dir_load(path, &options, failure) >= 0) return STATUS_OK;
    return failure ? failure->status : STATUS_BAD_PARAM;
}

/* ---- the process that checks */

static void log_sentence(void *context, const char *sentence) {
    (void)context;
    log_event(LOG_ERROR, "operators_problem", "%s", sentence);
}

static void print_sentence(void *context, const char *sentence) {
    (void)context;
    printf("%s\n", sentence);
}

static struct operators_options options_of(const char *cache, size_t bytes_max) {
    return (struct operators_options){ .cache = *cache ? cache : twin_cache_default(),
                                       .bytes_max = bytes_max,
                                       .report = log_sentence };
}

static struct operators_options options_in(const struct config *config) {
    return options_of(config->operators_cache_dir, (size_t)config->operators_source_bytes_max);
}

static bool read_text(char *text, size_t size, size_t *length) {
    ssize_t got = 1;
    *length = 0;
    while (*length < size && got > 0) {
        got = read(STDIN_FILENO, text + *length, size - *length);
        if (got > 0) *length += (size_t)got;
    }
    return got == 0;
}

const char *user_operators_cache(const struct config *config) {
    const char *cache = options_in(config).cache;
    return cache && twin_cache_open(cache) ? cache : NULL;
}

void user_operators_limit(const struct config *config) {
    sandbox_limit(SANDBOX_COMPILER, config, user_operators_cache(config));
    sandbox_filter(SANDBOX_COMPILER, config, 0);
}

int user_operators_check(char *const arguments[]) {
    const char *name = arguments[0], *cache = arguments[1], *sandbox = arguments[3];
    const size_t bytes_max = (size_t)atol(arguments[2]);
    struct operators_options options = options_of(cache, bytes_max);
    struct config config = { .listen = "" };
    struct rlimit cpu;
    size_t length;
    enum twin_state state;
    options.report = print_sentence;
    snprintf(config.sandbox, sizeof config.sandbox, "%s", sandbox);
    snprintf(config.operators_cache_dir, sizeof config.operators_cache_dir, "%s", cache);
    user_operators_limit(&config);
    compiler_limit(atol(arguments[4]), atol(arguments[5]));
    compiler_stay_in_group(); /* the front kills the whole group in the end */
    if (getrlimit(RLIMIT_CPU, &cpu) == 0) {
        cpu.rlim_cur = CHECK_CPU_S; /* the compiler has a separate limit */
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

/* A file of the folder. */
struct source {
    char *path, *bytes; /* heap; bytes NULL: it could not be read */
    size_t length;
    struct generation_text before; /* text NULL: the generation before has no such file */
    bool same;                     /* as before */
    bool right;                    /* its check was good */
};

/* A folder being read into a generation. */
struct reading {
    const struct config *config;
    const struct user_operators_watch *watch;
    const struct generation *before; /* NULL: none */
    struct generation *fresh;
    struct source sources[OP_SET_ADDED_MAX]; /* an accepted one has at least one operator */
    int count, left_out;
    int unchecked[OP_SET_ADDED_MAX]; /* indices in `sources` */
    int unchecked_count, checked;
    pthread_mutex_t lock; /* for `checked`, watch->problems and calls of watch->progress */
};

int user_operators_check_ms(const struct config *config) {
    const long most = 2 * config->operators_compile_ms + CHECK_SPARE_MS;
    return most < INT_MAX ? (int)most : INT_MAX;
}

static bool is_interrupted(const struct reading *reading) {
    return reading->watch->interrupted();
}

/* Logs a mistake in a file, and keeps it, without the folder's path. */
__attribute__((format(printf, 2, 3))) static void problem(struct reading *reading,
                                                          const char *format, ...) {
    const char *folder = reading->config->operators_dir;
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    log_event(LOG_ERROR, "operators_problem", "%s", sentence);
    utf8_clean(sentence);
    const size_t length = strlen(folder);
    const bool within = strncmp(sentence, folder, length) == 0;
    const char *rest = sentence + (within ? length + strspn(sentence + length, "/") : 0);
    pthread_mutex_lock(&reading->lock);
    json_array_append_new(reading->watch->problems, json_string(rest));
    pthread_mutex_unlock(&reading->lock);
}

static void report_problem(void *context, const char *sentence) {
    problem(context, "%s", sentence);
}

static struct operators_options options_for(struct reading *reading) {
    struct operators_options options = options_in(reading->config);
    options.report = report_problem;
    options.context = reading;
    return options;
}

/* Checks SOURCE in a separate process, and logs its output. */
static bool check(struct reading *reading, const struct source *source) {
    const struct config *config = reading->config;
    const char *path = source->path;
    char most[24], ms[24], memory[24], *output = malloc(OUTPUT_MAX);
    const char *why = NULL;
    struct failure failure = { 0 };
    const int fd = memfd_create("burin-operators", MFD_CLOEXEC);
    snprintf(most, sizeof most, "%ld", config->operators_source_bytes_max);
    snprintf(ms, sizeof ms, "%ld", config->operators_compile_ms);
    snprintf(memory, sizeof memory, "%ld", config->operators_compile_bytes);
    char *const cache = (char *)config->operators_cache_dir;
    char *const arguments[] = {
        "burin", "worker", "--check", (char *)path, cache, most, (char *)config->sandbox,
        ms,      memory,   NULL
    };
    const struct process_limits limits = { user_operators_check_ms(config),
                                           reading->watch->interrupted };
    bool good = false;
    if (!output || fd < 0 || write(fd, source->bytes, source->length) != (ssize_t)source->length ||
        lseek(fd, 0, SEEK_SET) != 0)
        why = "there is no memory";
    else if (!process_check(arguments, fd, &limits, output, OUTPUT_MAX, &good, &failure)) {
        char *rest = output;
        for (char *line; (line = strsep(&rest, "\n"));)
            if (*line) problem(reading, "%s", line);
    } else if (failure.status != STATUS_CANCELLED)
        why = failure.message;
    if (why) problem(reading, "%s: not used: it could not be checked: %s", path, why);
    if (fd >= 0) close(fd);
    free(output);
    return good;
}

/* Whether no earlier file has an operator of the same name; the reader has compared the names with
 * built-in operators and within the file. */
static bool names_are_free(const struct op_set *ops, const struct user_file *file,
                           struct diagnostics *diagnostics) {
    for (int i = 0; i < file->count; i++) {
        const struct user_op *op = &file->ops[i];
        if (op_set_find(ops, op->op.name))
            diagnostics_add(diagnostics, op->function->name->line,
                            token_directives[1 + op->skeleton],
                            "an operator cannot be called %s: there is an operator of that name "
                            "already; choose another name",
                            op->op.name);
    }
    if (ops->added_count + file->count > OP_SET_ADDED_MAX)
        diagnostics_add(diagnostics, 1, NULL,
                        "not used: all files together have more than %d operators",
                        OP_SET_ADDED_MAX);
    return !diagnostics->count;
}

/* Adds an accepted text to the generation. It is parsed only: its loops stay NULL, and are never
 * called here. */
static bool add(struct reading *reading, const char *path, const char *bytes, size_t length) {
    const struct operators_options options = options_for(reading);
    struct diagnostics diagnostics;
    struct user_file *file = reader_read(path, bytes, length, options.bytes_max, &diagnostics);
    if (file && names_are_free(&reading->fresh->ops, file, &diagnostics)) {
        twin_fill(file);
        if (generation_add(reading->fresh, file, path, bytes, length)) return true;
        problem(reading, "%s: not used: out of memory", path);
    }
    operators_dir_report(&options, &diagnostics);
    reader_destroy(file);
    return false;
}

/* ---- the folder */

/* Whether SOURCE needs a check; logs one that is too long. */
static bool is_unchecked(struct reading *reading, const struct source *source) {
    const size_t most = (size_t)reading->config->operators_source_bytes_max;
    if (source->bytes && !source->same && source->length > most)
        problem(reading, "%s: not used: it is longer than operators_source_bytes_max, %zu",
                source->path, most);
    return source->bytes && !source->same && source->length <= most;
}

static void collect(void *context, const char *path, const char *bytes, size_t length) {
    struct reading *reading = context;
    struct source *source = &reading->sources[reading->count];
    if (reading->count == OP_SET_ADDED_MAX) {
        reading->left_out++;
        return;
    }
    *source = (struct source){ .path = strdup(path), .length = length };
    if (bytes && (source->bytes = malloc(length + 1))) memcpy(source->bytes, bytes, length + 1);
    if (!source->path) {
        free(source->bytes);
        return;
    }
    const bool known =
        reading->before && generation_find_text(reading->before, path, &source->before);
    if (!known) source->before.text = NULL;
    source->same = known && source->bytes && source->before.length == length &&
                   memcmp(source->before.text, bytes, length) == 0;
    if (is_unchecked(reading, source))
        reading->unchecked[reading->unchecked_count++] = reading->count;
    reading->count++;
}

static void check_one(void *context, int index) {
    struct reading *reading = context;
    const struct user_operators_watch *watch = reading->watch;
    struct source *source = &reading->sources[reading->unchecked[index]];
    if (is_interrupted(reading)) return;
    pthread_mutex_lock(&reading->lock);
    if (watch->progress) watch->progress(watch->context, source->path);
    pthread_mutex_unlock(&reading->lock);
    source->right = check(reading, source);
    pthread_mutex_lock(&reading->lock);
    if (++reading->checked % PROGRESS == 0)
        log_event(LOG_INFO, "operators_checked", "operators_dir: %d of %d files are checked",
                  reading->checked, reading->unchecked_count);
    pthread_mutex_unlock(&reading->lock);
}

/* A reload checks one file at a time, and leaves the other cores to requests. All threads have
 * ended on return, since the sandbox, which is set later, would not apply to them. */
static void check_all(struct reading *reading) {
    const int many = reading->before ? 1 : process_cores();
    const int threads = many < reading->unchecked_count ? many : reading->unchecked_count;
    struct pool *pool = threads > 1 ? pool_create(threads) : NULL; /* NULL: one after the other */
    if (reading->unchecked_count >= PROGRESS)
        log_event(LOG_INFO, "operators_checked", "operators_dir: checking %d files, %d at a time",
                  reading->unchecked_count, pool_threads(pool));
    pool_run(pool, check_one, reading, reading->unchecked_count);
    pool_destroy(pool);
}

static void take(struct reading *reading, const struct source *source) {
    if (source->same) {
        add(reading, source->path, source->before.text, source->length);
    } else if (source->right && add(reading, source->path, source->bytes, source->length)) {
        const int count = reading->fresh->files[reading->fresh->file_count - 1]->count;
        log_event(LOG_INFO, "operators_accepted", "%s: %d operator%s", source->path, count,
                  count == 1 ? "" : "s");
    } else if (source->before.text &&
               add(reading, source->path, source->before.text, source->before.length)) {
        problem(reading, "%s: its operators as read before stay in use", source->path);
    }
}

static bool read_folder(struct reading *reading, struct failure *failure) {
    const struct operators_options options = options_for(reading);
    const char *folder = reading->config->operators_dir;
    const bool read = operators_dir_each(folder, &options, collect, reading, failure);
    if (reading->left_out)
        problem(reading, "operators_dir: %d files are not used: at most %d are read",
                reading->left_out, OP_SET_ADDED_MAX);
    if (read) check_all(reading);
    for (int i = 0; i < reading->count; i++) {
        if (read && !is_interrupted(reading)) take(reading, &reading->sources[i]);
        free(reading->sources[i].path);
        free(reading->sources[i].bytes);
    }
    return read;
}

static void log_removed(const struct generation *before, const struct generation *fresh) {
    struct generation_text text, found;
    const char *at = before->texts;
    while (at && generation_next_text(&at, before->texts + before->texts_length, &text))
        if (!generation_find_text(fresh, text.path, &found))
            log_event(LOG_INFO, "operators_removed", "%s: its operators are removed", text.path);
}

/* Logs a cache that cannot be used: each new sandbox would compile everything again. */
static void check_cache(const struct config *config) {
    const char *folder = config->operators_cache_dir;
    const char *trouble = *config->operators_dir && *folder ? twin_cache_trouble(folder) : NULL;
    if (trouble)
        log_event(LOG_ERROR, "operators_cache_unused",
                  "operators_cache_dir: nothing is kept in %s: %s", folder, trouble);
}

struct generation *user_operators_read(const struct config *config, const struct generation *before,
                                       const struct user_operators_watch *watch,
                                       struct failure *failure) {
    if (!before) check_cache(config);
    static uint32_t number; /* of the last generation, in force or not */
    struct reading *reading = calloc(1, sizeof *reading);
    struct generation *fresh = reading ? generation_create(++number) : NULL;
    bool read = true;
    if (fresh && *config->operators_dir) {
        *reading = (struct reading){ .config = config,
                                     .watch = watch,
                                     .before = before,
                                     .fresh = fresh,
                                     .lock = PTHREAD_MUTEX_INITIALIZER };
        read = read_folder(reading, failure);
    }
    free(reading);
    const json_t *problems = *config->operators_dir ? watch->problems : NULL;
    if (read && fresh && !watch->interrupted() && generation_close(fresh, problems)) {
        if (before) log_removed(before, fresh);
        return fresh;
    }
    if (read)
        fail(failure, STATUS_NO_MEMORY, "the operators could not be read: %s",
             watch->interrupted() ? "the daemon is stopping" : "out of memory");
    generation_release(fresh);
    return NULL;
}

/* ---- a worker */

bool user_operators_open(const char *texts, size_t length, const struct config *config) {
    const struct operators_options options = options_in(config);
    struct generation_text text;
    bool all = true;
    kernel_library_keep_in(options.cache);
    compiler_limit(config->operators_compile_ms, config->operators_compile_bytes);
    for (const char *at = texts; generation_next_text(&at, texts + length, &text);) {
        struct user_file *file =
            operators_dir_make(text.path, text.text, text.length, &options, NULL);
        all = file && operators_dir_add(file, &options) == file->count && all;
    }
    return all;
}
