// SPDX-License-Identifier: Apache-2.0
/* How it works. The complete text, preceded by compiler, options and CPU, is looked up in the
 * cache. If it is missing, it is compiled in a folder made by mkdtemp and loaded from there; then
 * it goes to the cache, or is removed with the folder where there is no cache. Nothing is loaded
 * that would run its own code while loading. */
#include "pipeline/skeletons/twin_library.h"

#include "pipeline/fnv1a.h"
#include "pipeline/skeletons/compiler.h"
#include "pipeline/skeletons/shared_object.h"
#include "pipeline/skeletons/twin_cache.h"
#include "pipeline/skeletons/user_text.h"

#if defined __x86_64__
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the key */

/* Hashes the name and features of the CPU for which the twin is compiled. /proc/cpuinfo may be
 * hidden. */
#if defined __x86_64__
static uint64_t cpu_hash(void) {
    static const unsigned leaves[] = { 1, 7, 0xd, 0x80000001, 0x80000002, 0x80000003, 0x80000004 };
    uint64_t hash = FNV1A_START;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned facts[4] = { 0 };
        __get_cpuid_count(leaves[i], 0, &facts[0], &facts[1], &facts[2], &facts[3]);
        if (leaves[i] == 1) facts[1] = 0; /* depends on the core */
        hash = fnv1a(hash, facts, sizeof facts);
    }
    return hash;
}
#else
static uint64_t cpu_hash(void) {
    const unsigned long facts[] = { getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
    return fnv1a(FNV1A_START, facts, sizeof facts);
}
#endif

/* Returns the source after a comment with everything else that decides how it is compiled. */
static char *key_of(const struct user_file *file, const struct compiler *compiler) {
    char *source = user_text_twin(file), *key = NULL;
    const int length =
        source ? asprintf(&key, "/* %s\n * %s\n * CPU %016llx */\n%s", compiler->identity,
                          compiler_options(compiler), (unsigned long long)cpu_hash(), source)
               : -1;
    free(source);
    return length < 0 ? NULL : key;
}

/* ---- the compiler's messages */

/* Returns the line of the first NAME in the user's text. */
static int line_of(const struct user_file *file, const char *name, size_t length) {
    const struct token wanted = { .text = name, .length = length };
    for (int i = 0; i < file->tokens.count; i++)
        if (token_same(&file->tokens.list[i], &wanted)) return file->tokens.list[i].line;
    return 1;
}

static void take_message(const struct user_file *file, const char *line, size_t length,
                         struct diagnostics *diagnostics) {
    static const char undefined[] = "undefined reference to `";
    const size_t name = strlen(file->name);
    const char *end = line + length;
    const char *missing = memmem(line, length, undefined, strlen(undefined));
    if (missing) {
        missing += strlen(undefined);
        const char *quote = memchr(missing, '\'', (size_t)(end - missing));
        const size_t size = (size_t)((quote ? quote : end) - missing);
        diagnostics_add(diagnostics, line_of(file, missing, size), NULL,
                        "there is no function \"%.*s\" that an operator may call", (int)size,
                        missing);
        return;
    }
    const char *error = memmem(line, length, "error: ", 7);
    if (!error) return;
    const bool own = length > name + 1 && memcmp(line, file->name, name) == 0 && line[name] == ':';
    const int number = own ? atoi(line + name + 1) : 1;
    const bool large = memmem(error, (size_t)(end - error), "frame size", 10) != NULL;
    diagnostics_add(diagnostics, number > 0 ? number : 1, NULL, "%s%.*s",
                    own     ? ""
                    : large ? "an operator's local variables are too large: "
                            : "the loop around an operator does not compile: ",
                    (int)(end - error - 7), error + 7);
}

static void take_messages(const struct user_file *file, const char *output,
                          struct diagnostics *diagnostics) {
    for (const char *line = output; *line;) {
        const size_t length = strcspn(line, "\n");
        take_message(file, line, length, diagnostics);
        line += length + (line[length] == '\n');
    }
    if (!diagnostics->count)
        diagnostics_add(diagnostics, 1, NULL, "the C compiler failed: %.150s",
                        *output ? output : "it ended without a message");
}

/* ---- loading */

/* The library stays open. POSIX allows a function's address as a pointer to data. */
static bool find_loops(struct user_file *file, void *library) {
    bool all = true;
    for (int i = 0; i < file->count; i++) {
        struct user_op *op = &file->ops[i];
        for (int depth = 8; depth <= 16; depth += 8) {
            char name[96];
            struct twin_loops *loops = &op->loops[depth == 16];
            if (!user_text_has(op, depth)) continue;
            snprintf(name, sizeof name, "burin_%s_%d_rows", op->op.name, depth);
            *(void **)&loops->rows = dlsym(library, name);
            snprintf(name, sizeof name, "burin_%s_%d_merge", op->op.name, depth);
            if (op->skeleton == SKELETON_R2S) *(void **)&loops->merge = dlsym(library, name);
            all = all && loops->rows && (loops->merge || op->skeleton != SKELETON_R2S);
        }
    }
    return all;
}

/* Returns why it failed; NULL: the library is loaded, has run no code, and is read-only. VARIABLE:
 * see shared_object.h. */
static const char *load(struct user_file *file, const char *path,
                        char variable[SHARED_OBJECT_NAME_MAX]) {
    const char *reason = shared_object_refusal(path, variable);
    if (reason) return reason;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return (reason = dlerror()) ? reason : "it is not known why";
    if (!shared_object_seal(library)) return strerror(errno);
    return find_loops(file, library) ? NULL : "its functions are not there";
}

/* Compiles in FOLDER, which is empty and ours. */
static bool compile(struct user_file *file, const struct compiler *compiler, const char *folder,
                    const char *key, struct diagnostics *diagnostics) {
    char path[TWIN_CACHE_PATH_MAX], variable[SHARED_OBJECT_NAME_MAX];
    char *output = malloc(COMPILER_OUTPUT_MAX);
    snprintf(path, sizeof path, "%s/twin.c", folder);
    FILE *source = fopen(path, "we");
    bool good = output && source && fputs(key, source) >= 0;
    if (source) good = fclose(source) == 0 && good;
    if (good) good = compiler_run(compiler, folder, output);
    if (!good) take_messages(file, output ? output : "", diagnostics);
    free(output);
    if (!good) return false;
    snprintf(path, sizeof path, "%s/twin.so", folder);
    const char *reason = load(file, path, variable);
    if (reason && *variable)
        diagnostics_add(diagnostics, line_of(file, variable, strlen(variable)), NULL,
                        "%s: this is \"%s\"", reason, variable);
    else if (reason)
        diagnostics_add(diagnostics, 1, NULL, "the compiled operator cannot be loaded: %s", reason);
    return !reason;
}

/* Compiles in a new folder, below CACHE if there is one. */
static bool compile_and_keep(struct user_file *file, const struct compiler *compiler,
                             const char *cache, const char *key, struct diagnostics *diagnostics) {
    char folder[TWIN_CACHE_PATH_MAX - 100];
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.800s/burin-XXXXXX",
             cache       ? cache
             : temporary ? temporary
                         : "/tmp");
    if (!mkdtemp(folder)) {
        diagnostics_add(diagnostics, 1, NULL, "cannot make a folder to compile in: %.120s: %s",
                        folder, strerror(errno));
        return false;
    }
    const bool good = compile(file, compiler, folder, key, diagnostics);
    if (good && cache) twin_cache_keep(cache, key, folder);
    twin_cache_remove_folder(folder);
    return good;
}

enum twin_state twin_library_load(struct user_file *file, const char *cache,
                                  struct diagnostics *diagnostics) {
    struct compiler compiler;
    char path[TWIN_CACHE_PATH_MAX], variable[SHARED_OBJECT_NAME_MAX];
    *diagnostics = (struct diagnostics){ .path = file->path };
    if (!compiler_find(&compiler)) return TWIN_NO_COMPILER;
    char *key = key_of(file, &compiler);
    if (!key) {
        diagnostics_add(diagnostics, 1, NULL, "out of memory");
        return TWIN_WRONG;
    }
    if (cache && !twin_cache_open(cache)) cache = NULL;
    const bool good = (cache && twin_cache_find(cache, key, path) && !load(file, path, variable)) ||
                      compile_and_keep(file, &compiler, cache, key, diagnostics);
    free(key);
    return good ? TWIN_LOADED : TWIN_WRONG;
}
