// SPDX-License-Identifier: Apache-2.0
#include "server/process/thread_status.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_file(const char *path, char *text, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static enum thread_state state_of(char letter) {
    switch (letter) {
    case 'R': return THREAD_RUNS;
    case 'S': return THREAD_SLEEPS;
    case 'D': return THREAD_HELD;
    case 'T': return THREAD_STOPPED;
    case 't': return THREAD_TRACED;
    default: return THREAD_UNKNOWN;
    }
}

/* The letter follows the name, which may contain any byte; processor time, in ticks, is the 12th
 * and 13th field from the letter on. */
static enum thread_state read_stat(pid_t pid, long thread, uint64_t *ticks) {
    char path[64], text[512];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, thread);
    const char *letter = read_file(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!letter || strlen(letter) < 3) return THREAD_UNKNOWN;
    letter += 2;
    if (sscanf(letter, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2)
        *ticks = user + system;
    return state_of(*letter);
}

static bool is_busy(enum thread_state state) {
    return state == THREAD_RUNS || state == THREAD_HELD;
}

/* False also if /proc cannot be read. */
static bool is_idle(pid_t pid) {
    char path[64];
    bool busy = false;
    uint64_t ignored;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *threads = opendir(path);
    if (!threads) return false;
    for (const struct dirent *entry; !busy && (entry = readdir(threads));)
        busy = entry->d_name[0] != '.' && is_busy(read_stat(pid, atol(entry->d_name), &ignored));
    closedir(threads);
    return !busy;
}

static struct thread_status read_thread(pid_t pid, pid_t thread) {
    struct thread_status status = { .turns = 0 };
    char path[64], text[128];
    unsigned long long turns;
    status.state = read_stat(pid, thread, &status.turns);
    /* Time on cores, time spent waiting for one, turns on one; not every kernel has this file. */
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/schedstat", (long)pid, (long)thread);
    if (read_file(path, text, sizeof text) && sscanf(text, "%*u %*u %llu", &turns) == 1)
        status.turns = turns;
    return status;
}

void thread_status_read_all(const struct thread_id *threads, int count,
                            struct thread_status *statuses) {
    pid_t scanned = 0;
    bool idle = false;
    for (int i = 0; i < count; i++) {
        const pid_t pid = threads[i].pid;
        statuses[i] = read_thread(pid, threads[i].thread);
        if (is_busy(statuses[i].state)) continue;
        if (pid != scanned) idle = is_idle(pid);
        scanned = pid;
        statuses[i].process_idle = idle;
    }
}

struct thread_status thread_status_read(pid_t pid, pid_t thread) {
    const struct thread_id one = { pid, thread };
    struct thread_status status;
    thread_status_read_all(&one, 1, &status);
    return status;
}
