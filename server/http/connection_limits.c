// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection_limits.h"

#include "server/http/engine/lingering_close.h"

/* LISTENER: its copy of the socket, the library's epoll, and an I/O thread's epoll and eventfd.
 * SHARED: slots, the launcher's socket, three of the supervisor, two each of the threads that watch
 * and linger, a socket that is opened before its listeners have copies, and a worker's channel.
 * START: a worker's channel, and twice what it is handed beside the pipes: copies may need higher
 * numbers than those that are free. RELOAD: the operators' texts, a process that checks one of
 * them, its file and folder, and a channel to each new worker. SPARE: a message to the service
 * manager, a file of /proc and the like, and what is yet to come. */
enum { LISTENER = 5, PIPE = 2, SHARED = 11, START = 2 + 2 * 3, RELOAD = 12, SPARE = 16 };

static long listener_count(int io_threads, bool admin) {
    return io_threads + (admin ? 1 : 0);
}

/* To be opened when all else is, in the worst case. */
static long reserve_of(const struct config *config, int io_threads, bool admin) {
    return listener_count(io_threads, admin) * LISTENER + START + 2 * io_threads +
           (config->operators_dir[0] ? RELOAD : 0) + SPARE;
}

static long smaller(long a, long b) {
    return a < b ? a : b;
}

static long larger(long a, long b) {
    return a > b ? a : b;
}

enum status connection_limits_check(const struct config *config, int io_threads, bool admin,
                                    const struct descriptors *now, struct failure *failure) {
    const long need = now->open + io_threads * PIPE + SHARED +
                      reserve_of(config, io_threads, admin) + listener_count(io_threads, admin);
    if (need <= now->limit) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the limit of open files is %ld, and burin needs %ld with io_threads %d, and one "
                "more for each connection: raise it (ulimit -n, LimitNOFILE=)%s",
                now->limit, need, io_threads, io_threads > 1 ? ", or lower io_threads" : "");
}

struct connection_limits connection_limits_find(const struct config *config, int io_threads,
                                                bool admin, const struct descriptors *now) {
    const long wanted_admin = admin ? smaller(config->connections_max, ADMIN_CONNECTIONS_MAX) : 0;
    const long left = now->limit - now->open - reserve_of(config, io_threads, admin);
    struct connection_limits limits = { (int)config->connections_max, (int)wanted_admin,
                                        LINGERING_MAX };
    if (left >= config->connections_max + wanted_admin + LINGERING_MAX) return limits;
    /* Nearly all of it is for those who ask for pictures. */
    const long part = larger(left / 16, 0);
    limits.lingering = (int)smaller(part, LINGERING_MAX);
    limits.admin = (int)(admin ? larger(smaller(part, wanted_admin), 1) : 0);
    limits.listen = (int)larger(
        smaller(left - limits.lingering - limits.admin, config->connections_max), io_threads);
    return limits;
}
