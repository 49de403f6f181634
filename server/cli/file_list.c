// SPDX-License-Identifier: Apache-2.0
/* How it works. Each argument is a file, or a folder that is walked: of its files those are taken
 * whose ending Burin reads, in the order of their names, without hidden ones. A result's name is
 * the pattern of --name below --out-dir and below the file's place in its folder. The whole list is
 * then checked for results with one name and for results that are sources, which are compared as
 * the system knows files, by device and inode. */
#include "server/cli/file_list.h"

#include "pipeline/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* State of the walk. */
struct walk {
    struct file_list *list;
    const struct options *options;
    struct stat out_dir; /* of --out-dir, which is not walked; st_ino 0: it is not there */
    struct failure *failure;
};

static enum status no_memory(struct failure *failure) {
    return fail(failure, STATUS_NO_MEMORY, "out of memory for the list of files");
}

/* ---- the name of a result */

static bool has_ending(const struct format_record *record, const char *ending) {
    bool has = false;
    for (int i = 0; record->endings[i] && !has; i++)
        has = strcasecmp(record->endings[i], ending) == 0;
    return has;
}

/* The format with that ENDING that can be read; FORMAT_NONE: there is none. */
static enum format format_read_from(const char *ending) {
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++)
        if (format_can((enum format)f, FORMAT_READ) && has_ending(format_records[f], ending))
            return (enum format)f;
    return FORMAT_NONE;
}

static enum format format_inside(const char *path) {
    uint8_t bytes[64];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t length = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
    if (fd >= 0) close(fd);
    return length > 0 ? probe_format(bytes, (size_t)length) : FORMAT_NONE;
}

/* The ending of SOURCE's result: of the type asked for, or its own, or of the type that
 * codec_result_format gives photographs and others that Burin only reads. */
static const char *result_ending(const struct options *options, const char *source) {
    const char *own = options_extension(source);
    enum format format = options->encode.format;
    if (!format && format_from_name(own)) return own;
    if (!format) format = format_read_from(own);
    if (!format) format = format_inside(source);
    if (format_can(format, FORMAT_WRITTEN)) return format_record(format)->endings[0];
    return format_record(format)->photographs ? "jpg" : "png";
}

/* Writes OUT_DIR/FOLDER/PATTERN, with %n and %e replaced; false: PATH_MAX is too small. */
static bool put_name(const struct options *options, const char *folder, const char *source,
                     char path[PATH_MAX]) {
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
    const char *ending = options_extension(source);
    const int stem = (int)(strlen(name) - (*ending ? strlen(ending) + 1 : 0));
    FILE *out = fmemopen(path, PATH_MAX, "w");
    if (!out) return false;
    fprintf(out, "%s/%s%s", options->out_dir, folder, *folder ? "/" : "");
    for (const char *at = options->name; *at; at++) {
        if (*at != '%')
            fputc(*at, out);
        else if (*++at == 'n')
            fprintf(out, "%.*s", stem, name);
        else
            fputs(*at == 'e' ? result_ending(options, source) : "%w", out);
    }
    fputc('\0', out);
    return fclose(out) == 0 && memchr(path, '\0', PATH_MAX);
}

static bool is_newer(const struct stat *a, const struct stat *b) {
    return a->st_mtim.tv_sec > b->st_mtim.tv_sec ||
           (a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec > b->st_mtim.tv_nsec);
}

bool file_list_output(const struct options *options, const struct file_pair *pair, int index,
                      char path[PATH_MAX]) {
    if (index >= (options->widths.count ? options->widths.count : 1)) return false;
    const uint32_t width = options->widths.count ? options->widths.widths[index] : 0;
    return options_path(pair->output, width, path, PATH_MAX);
}

/* Every result of PAIR is newer than its source. */
static bool is_done(const struct options *options, const struct file_pair *pair) {
    struct stat source, output;
    char path[PATH_MAX];
    bool done = stat(pair->source, &source) == 0;
    for (int i = 0; done && file_list_output(options, pair, i, path); i++)
        done = stat(path, &output) == 0 && is_newer(&output, &source);
    return done;
}

/* ---- the walk */

static enum status add(struct walk *walk, const char *source, const char *folder) {
    struct file_list *list = walk->list;
    char output[PATH_MAX];
    if (walk->options->widths.count &&
        (strstr(source, "%w") || strstr(walk->options->out_dir, "%w")))
        return fail(walk->failure, STATUS_BAD_PARAM,
                    "%.200s: %%w stands for a width, and cannot be in its name or --out-dir's",
                    source);
    if (!put_name(walk->options, folder, source, output))
        return fail(walk->failure, STATUS_BAD_PARAM, "%.200s: its result's name is too long",
                    source);
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        struct file_pair *more = realloc(list->pairs, room * sizeof *more);
        if (!more) return no_memory(walk->failure);
        list->pairs = more;
        list->room = room;
    }
    struct file_pair *pair = &list->pairs[list->count++];
    *pair = (struct file_pair){ strdup(source), strdup(output) };
    return pair->source && pair->output ? STATUS_OK : no_memory(walk->failure);
}

static int is_shown(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Takes the files of the folder PATH, which is FOLDER below the argument; "" is the argument. */
static enum status walk_folder(struct walk *walk, const char *path, const char *folder, int deep) {
    struct dirent **entries;
    const int count = scandir(path, &entries, is_shown, alphasort);
    if (count < 0)
        return fail(walk->failure, STATUS_BAD_PARAM, "cannot read the folder %.200s: %s", path,
                    strerror(errno));
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char inner[PATH_MAX], below[PATH_MAX];
        struct stat facts;
        const bool fits =
            snprintf(inner, PATH_MAX, "%s/%s", path, name) < PATH_MAX &&
            snprintf(below, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", name) < PATH_MAX;
        if (!status && !fits)
            status = fail(walk->failure, STATUS_BAD_PARAM, "%.200s: its path is too long", inner);
        if (status || lstat(inner, &facts) != 0) continue;
        const bool link = S_ISLNK(facts.st_mode);
        if (link && stat(inner, &facts) != 0) continue;
        const bool results =
            facts.st_ino == walk->out_dir.st_ino && facts.st_dev == walk->out_dir.st_dev;
        if (S_ISDIR(facts.st_mode) && !link && !results && deep == FOLDERS_DEEP_MAX)
            status = fail(walk->failure, STATUS_BAD_PARAM, "%.200s is more than %d folders deep",
                          inner, FOLDERS_DEEP_MAX);
        else if (S_ISDIR(facts.st_mode) && !link && !results)
            status = walk_folder(walk, inner, below, deep + 1);
        else if (S_ISREG(facts.st_mode) && format_read_from(options_extension(name)))
            status = add(walk, inner, folder);
    }
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return status;
}

static enum status take(struct walk *walk, char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode)) return add(walk, path, "");
    if (!walk->options->recursive)
        return fail(walk->failure, STATUS_BAD_PARAM,
                    "%.200s is a folder: --recursive takes all its pictures", path);
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';) path[--length] = 0;
    return walk_folder(walk, path, "", 0);
}

/* ---- checks of the whole list */

struct result {
    char *path; /* heap */
    const char *source;
};

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct result *)a)->path, ((const struct result *)b)->path);
}

static enum status check_names(const struct options *options, const struct file_list *list,
                               struct failure *failure) {
    const size_t each = options->widths.count ? (size_t)options->widths.count : 1;
    struct result *results = calloc(list->count * each + 1, sizeof *results);
    enum status status = results ? STATUS_OK : no_memory(failure);
    size_t count = 0;
    char path[PATH_MAX];
    for (size_t i = 0; !status && i < list->count; i++)
        for (int w = 0; !status && file_list_output(options, &list->pairs[i], w, path); w++) {
            results[count] = (struct result){ strdup(path), list->pairs[i].source };
            if (!results[count++].path) status = no_memory(failure);
        }
    if (!status) qsort(results, count, sizeof *results, by_path);
    for (size_t i = 1; !status && i < count; i++)
        if (by_path(&results[i - 1], &results[i]) == 0)
            status =
                fail(failure, STATUS_BAD_PARAM, "%.120s and %.120s would have one result, %.120s",
                     results[i - 1].source, results[i].source, results[i].path);
    for (size_t i = 0; i < count; i++) free(results[i].path);
    free(results);
    return status;
}

struct identity {
    dev_t device;
    ino_t inode;
};

static int by_identity(const void *a, const void *b) {
    const struct identity *left = a, *right = b;
    if (left->inode != right->inode) return left->inode < right->inode ? -1 : 1;
    return (left->device > right->device) - (left->device < right->device);
}

static enum status check_sources(const struct options *options, const struct file_list *list,
                                 struct failure *failure) {
    struct identity *sources = malloc((list->count + 1) * sizeof *sources);
    enum status status = sources ? STATUS_OK : no_memory(failure);
    size_t count = 0;
    struct stat facts;
    char path[PATH_MAX];
    for (size_t i = 0; sources && i < list->count; i++)
        if (stat(list->pairs[i].source, &facts) == 0)
            sources[count++] = (struct identity){ facts.st_dev, facts.st_ino };
    if (sources) qsort(sources, count, sizeof *sources, by_identity);
    for (size_t i = 0; !status && i < list->count; i++)
        for (int w = 0; !status && file_list_output(options, &list->pairs[i], w, path); w++) {
            if (stat(path, &facts) != 0) continue;
            const struct identity id = { facts.st_dev, facts.st_ino };
            if (bsearch(&id, sources, count, sizeof id, by_identity))
                status = fail(failure, STATUS_BAD_PARAM,
                              "%.200s would be replaced, and is one of the files to read; choose "
                              "another --out-dir or --name",
                              path);
        }
    free(sources);
    return status;
}

static void drop_done(struct file_list *list, const struct options *options) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct file_pair *pair = &list->pairs[i];
        if (is_done(options, pair)) {
            free(pair->source);
            free(pair->output);
        } else {
            list->pairs[kept++] = *pair;
        }
    }
    list->skipped = list->count - kept;
    list->count = kept;
}

enum status file_list_make(struct file_list *list, const struct options *options,
                           struct failure *failure) {
    struct walk walk = { .list = list, .options = options, .failure = failure };
    enum status status = STATUS_OK;
    *list = (struct file_list){ .pairs = NULL };
    if (stat(options->out_dir, &walk.out_dir) != 0) walk.out_dir = (struct stat){ .st_ino = 0 };
    for (int i = 0; i < options->source_count && !status; i++)
        status = take(&walk, options->sources[i]);
    if (!status && !list->count)
        status =
            fail(failure, STATUS_BAD_PARAM, "there is no picture in %.200s", options->sources[0]);
    if (!status) status = check_names(options, list, failure);
    if (!status) status = check_sources(options, list, failure);
    if (!status && options->resume) drop_done(list, options);
    return status;
}

void file_list_release(struct file_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->pairs[i].source);
        free(list->pairs[i].output);
    }
    free(list->pairs);
}
