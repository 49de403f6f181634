// SPDX-License-Identifier: Apache-2.0
/* How it works. The complete text is hashed; an entry of the cache under that name is loaded if its
 * text is ours. Else the text is compiled in a folder that mkdtemp made, the library renamed into
 * the cache, then the text, so that an entry is whole or not there. Folder and files must be ours
 * and nobody else's to write: what is in them is run. Without a cache the library is loaded from
 * the temporary folder, which goes away at once. */
#include "pipeline/skeletons/twin_library.h"

#include "pipeline/skeletons/compiler.h"
#include "pipeline/skeletons/twin_source.h"
#include "pipeline/skeletons/user_text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

/* ---- files */

static bool is_ours(const struct stat *facts) {
    return facts->st_uid == geteuid() && !(facts->st_mode & (S_IWGRP | S_IWOTH));
}

/* A folder of our own, made if need be. */
static bool cache_is_safe(const char *cache) {
    struct stat facts;
    if (mkdir(cache, 0700) != 0 && errno != EEXIST) return false;
    return stat(cache, &facts) == 0 && S_ISDIR(facts.st_mode) && is_ours(&facts);
}

static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    if (!file) return false;
    const bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Whether the file at PATH is ours and reads TEXT. */
static bool file_reads(const char *path, const char *text) {
    const size_t length = strlen(text);
    struct stat facts;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool same =
        fstat(fileno(file), &facts) == 0 && is_ours(&facts) && (size_t)facts.st_size == length;
    char *bytes = same ? malloc(length) : NULL;
    same = bytes && fread(bytes, 1, length, file) == length && memcmp(bytes, text, length) == 0;
    free(bytes);
    fclose(file);
    return same;
}

static void remove_folder(const char *folder) {
    DIR *list = opendir(folder);
    if (!list) return;
    for (struct dirent *one; (one = readdir(list));)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            unlinkat(dirfd(list), one->d_name, 0);
    closedir(list);
    rmdir(folder);
}

/* ---- the key */

static uint64_t hash_of(const char *text, uint64_t hash) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Name and abilities of the CPU that the twin is compiled for. */
static uint64_t cpu_hash(void) {
    char line[8192];
    uint64_t hash = 0xcbf29ce484222325u;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file) && *line != '\n')
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "flags", 5) == 0 ||
            strncmp(line, "CPU part", 8) == 0 || strncmp(line, "Features", 8) == 0)
            hash = hash_of(line, hash);
    if (file) fclose(file);
    return hash;
}

/* The source under a comment that tells what else decides how it is compiled. */
static char *key_of(const struct user_file *file, const struct compiler *compiler) {
    char *source = twin_source(file), *key = NULL;
    const int length =
        source ? asprintf(&key, "/* %s\n * %s\n * CPU %016llx */\n%s", compiler->identity,
                          compiler_options(compiler), (unsigned long long)cpu_hash(), source)
               : -1;
    free(source);
    return length < 0 ? NULL : key;
}

/* ---- what the compiler said */

/* The first place at which NAME stands in the user's text. */
static int line_of(const struct user_file *file, const char *name, size_t length) {
    for (int i = 0; i < file->tokens.count; i++) {
        const struct token *token = &file->tokens.list[i];
        if (token->kind == TOKEN_WORD && token->length == length &&
            memcmp(token->text, name, length) == 0)
            return token->line;
    }
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

/* The library stays open. A function's address comes as a pointer to data: POSIX says it may. */
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

static bool load(struct user_file *file, const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0 || !is_ours(&facts)) return false;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library && find_loops(file, library);
}

static bool load_cached(struct user_file *file, const char *cache, const char *name,
                        const char *key) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s.c", cache, name);
    if (!file_reads(path, key)) return false;
    snprintf(path, sizeof path, "%s/%s.so", cache, name);
    return load(file, path);
}

static void keep(const char *folder, const char *cache, const char *name) {
    static const char *const endings[] = { "so", "c" };
    for (int i = 0; i < 2; i++) {
        char from[PATH_SIZE], to[PATH_SIZE];
        snprintf(from, sizeof from, "%s/twin.%s", folder, endings[i]);
        snprintf(to, sizeof to, "%s/%s.%s", cache, name, endings[i]);
        if (rename(from, to) != 0) return;
    }
}

/* In FOLDER, which is empty and ours. */
static bool compile(struct user_file *file, const struct compiler *compiler, const char *folder,
                    const char *key, struct diagnostics *diagnostics) {
    char path[PATH_SIZE];
    char *output = malloc(COMPILER_OUTPUT_MAX);
    snprintf(path, sizeof path, "%s/twin.c", folder);
    bool good = output && write_file(path, key);
    if (good) good = compiler_run(compiler, folder, output);
    if (!good) take_messages(file, output ? output : "", diagnostics);
    free(output);
    if (!good) return false;
    snprintf(path, sizeof path, "%s/twin.so", folder);
    if (load(file, path)) return true;
    const char *reason = dlerror();
    diagnostics_add(diagnostics, 1, NULL, "the compiled operator cannot be loaded: %s",
                    reason ? reason : "its functions are not there");
    return false;
}

enum twin_state twin_library_load(struct user_file *file, const char *cache,
                                  struct diagnostics *diagnostics) {
    struct compiler compiler;
    char name[40], folder[PATH_SIZE - 100];
    *diagnostics = (struct diagnostics){ .path = file->path };
    if (!compiler_find(&compiler)) return TWIN_NO_COMPILER;
    char *key = key_of(file, &compiler);
    if (!key) {
        diagnostics_add(diagnostics, 1, NULL, "out of memory");
        return TWIN_WRONG;
    }
    snprintf(name, sizeof name, "%016llx%016llx",
             (unsigned long long)hash_of(key, 0xcbf29ce484222325u),
             (unsigned long long)hash_of(key, 0x84222325cbf29ce4u));
    if (cache && !cache_is_safe(cache)) cache = NULL;
    bool good = cache && load_cached(file, cache, name, key);
    if (!good) {
        const char *temporary = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%.800s/burin-XXXXXX",
                 cache       ? cache
                 : temporary ? temporary
                             : "/tmp");
        if (mkdtemp(folder)) {
            good = compile(file, &compiler, folder, key, diagnostics);
            if (good && cache) keep(folder, cache, name);
            remove_folder(folder);
        } else {
            diagnostics_add(diagnostics, 1, NULL, "cannot make a folder to compile in: %.120s: %s",
                            folder, strerror(errno));
        }
    }
    free(key);
    return good ? TWIN_LOADED : TWIN_WRONG;
}

const char *twin_library_cache(void) {
    static char path[PATH_SIZE];
    const char *given = getenv("CACHE_DIRECTORY"), *home = getenv("HOME");
    const char *user = getenv("XDG_CACHE_HOME");
    if (given && *given == '/')
        snprintf(path, sizeof path, "%.900s", given);
    else if (user && *user == '/')
        snprintf(path, sizeof path, "%.900s/burin", user);
    else if (home && *home == '/')
        snprintf(path, sizeof path, "%.900s/.cache/burin", home);
    else
        return NULL;
    return path;
}
