// SPDX-License-Identifier: Apache-2.0
/* load - drives a running daemon with one request after the other on each of a number of
 * connections, and prints requests a second and latencies by concurrency.
 *
 *     build/cuda/tests/bench/load --port 8080 --path /histeq --concurrency 1,16,64 photo.jpg
 *
 * How it works. Each thread waits with epoll for its share of a round's connections; each sends its
 * next request when the last answer is complete. Answers are read as load_answer.h says, which
 * copies little: a client that shares its cores with the daemon should take few of them. An answer
 * counts only with status 200, its whole body, and, where it is an image, the same bytes as before.
 * A connection that the server closes between two requests is opened anew, and counted: such a
 * server costs its clients that. Several files are sent in turn. */
#include "tests/bench/load_answer.h"
#include "tests/bench/load_request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 64, CONNECTIONS_MAX = 4096, LEVELS_MAX = 16, THREADS_MAX = 64 };

struct options {
    int port, threads, levels, concurrency[LEVELS_MAX];
    struct in_addr from; /* all 0: the system chooses */
    const char *path, *accept;
    double seconds;
    long count;
    bool json, raw, sendfile;
};

struct connection {
    int fd;
    int which; /* of the files */
    size_t sent;
    struct answer answer;
    long answers; /* complete ones on this connection */
    int64_t start_ns;
};

struct round {
    long done, failed, wrong; /* wrong: of the failed, those that were not the same as before */
    long reopened;            /* connections that the server closed in between */
    double *latencies_ms;
    size_t capacity;
    uint64_t bytes;
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- connections */

/* FROM: the client's own address. */
static void open_connection(struct connection *c, int port, struct in_addr from) {
    const struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr = from };
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* The port is chosen by connect(), which may share it between servers. */
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (from.s_addr && bind(c->fd, (const struct sockaddr *)&own, sizeof own) < 0) die("bind");
    if (connect(c->fd, (const struct sockaddr *)&address, sizeof address) < 0) die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

static void note(struct round *round, const struct connection *c) {
    if (c->answer.status != 200 || c->answer.wrong) {
        round->failed++;
        round->wrong += c->answer.wrong;
        return;
    }
    if ((size_t)round->done == round->capacity) {
        round->capacity = round->capacity ? 2 * round->capacity : 1 << 16;
        round->latencies_ms = realloc(round->latencies_ms, round->capacity * sizeof(double));
        if (!round->latencies_ms) die("memory");
    }
    round->latencies_ms[round->done++] = (double)(now_ns() - c->start_ns) / 1e6;
}

/* ---- a round */

/* A thread's part of a round. */
struct field {
    pthread_t thread;
    const struct options *options;
    const struct request *requests;
    struct known known[FILES_MAX];
    int files, events;
    int connection_count, busy; /* busy: connections that are still asking */
    struct connection *connections;
    long next, count; /* request; how many there may be, 0: until end_ns */
    int64_t end_ns;
    struct round round;
};

static void begin(struct field *field, struct connection *c, int which) {
    c->which = which;
    c->sent = 0;
    answer_begin(&c->answer, &field->known[which]);
    c->start_ns = now_ns();
}

static bool push(const struct field *field, struct connection *c) {
    const struct request *request = &field->requests[c->which];
    while (c->sent < request->length) {
        off_t at = (off_t)c->sent;
        const size_t left = request->length - c->sent;
        const ssize_t n = field->options->sendfile
                              ? sendfile(c->fd, request->file, &at, left)
                              : send(c->fd, request->bytes + c->sent, left, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN;
        c->sent += (size_t)n;
    }
    return true;
}

static void open_and_watch(struct field *field, struct connection *c) {
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
                                 .data.u32 = (uint32_t)(c - field->connections) };
    open_connection(c, field->options->port, field->options->from);
    if (epoll_ctl(field->events, EPOLL_CTL_ADD, c->fd, &event) < 0) die("epoll");
}

static void close_connection(struct connection *c) {
    close(c->fd);
    c->fd = -1;
}

static bool more_to_ask(const struct field *field) {
    return field->count ? field->next < field->count : now_ns() < field->end_ns;
}

/* Nothing is unread, so the answer makes an event of its own; so does a failure to send. */
static void ask_next(struct field *field, struct connection *c) {
    begin(field, c, (int)(field->next++ % field->files));
    push(field, c);
}

/* The last answer is complete, or counted as failed. */
static void go_on(struct field *field, struct connection *c) {
    if (!more_to_ask(field)) {
        if (c->fd >= 0) close_connection(c);
        field->busy--;
        return;
    }
    if (c->fd < 0) open_and_watch(field, c);
    c->answers++;
    ask_next(field, c);
}

/* A server may close a connection between two requests, and one may be on its way by then: it is
 * sent again on a new one, once, and keeps its start. */
static void handle_end(struct field *field, struct connection *c) {
    const bool between = c->answers > 0 && !c->answer.head_length && c->answer.left < 0;
    close_connection(c);
    c->answers = 0;
    if (!between) {
        field->round.failed++;
        go_on(field, c);
        return;
    }
    field->round.reopened++;
    const int64_t start_ns = c->start_ns;
    open_and_watch(field, c);
    begin(field, c, c->which);
    c->start_ns = start_ns;
    push(field, c);
}

static void handle_event(struct field *field, struct connection *c, uint32_t events, char *bytes,
                         size_t room) {
    if (c->fd < 0) return; /* closed in this turn */
    int done = push(field, c) ? ANSWER_MORE : ANSWER_BROKEN;
    if (done == ANSWER_MORE && events & ~(uint32_t)EPOLLOUT)
        done = answer_read(&c->answer, c->fd, bytes, room, &field->round.bytes);
    if (done == ANSWER_BROKEN) {
        handle_end(field, c);
    } else if (done == ANSWER_COMPLETE) {
        note(&field->round, c);
        if (c->answer.closes) {
            close_connection(c);
            c->answers = -1; /* the next one will have had none */
            field->round.reopened++;
        }
        go_on(field, c);
    }
}

static void *run_field(void *argument) {
    struct field *field = argument;
    enum { ROOM = 1 << 18, EVENTS = 256 };
    char *bytes = malloc(ROOM);
    if (!bytes) die("memory");
    for (int i = 0; i < field->connection_count; i++) {
        open_and_watch(field, &field->connections[i]);
        ask_next(field, &field->connections[i]);
    }
    while (field->busy > 0) {
        struct epoll_event ready[EVENTS];
        const int count = epoll_wait(field->events, ready, EVENTS, 1000);
        for (int i = 0; i < count; i++)
            handle_event(field, &field->connections[ready[i].data.u32], ready[i].events, bytes,
                         ROOM);
    }
    for (int i = 0; i < field->connection_count; i++) answer_release(&field->connections[i].answer);
    free(bytes);
    return NULL;
}

/* Share PART of COUNT among PARTS. */
static long share_of(long count, int part, int parts) {
    return count / parts + (part < count % parts);
}

static struct field *make_field(const struct options *options, const struct request *requests,
                                int files, int concurrency, int part, int parts) {
    struct field *field = calloc(1, sizeof *field);
    const int connections = (int)share_of(concurrency, part, parts);
    if (!field) die("memory");
    *field = (struct field){ .options = options,
                             .requests = requests,
                             .files = files,
                             .events = epoll_create1(EPOLL_CLOEXEC),
                             .connection_count = connections,
                             .busy = connections,
                             .connections = calloc((size_t)connections, sizeof(struct connection)),
                             .count = share_of(options->count, part, parts),
                             .end_ns = now_ns() + (int64_t)(options->seconds * 1e9) };
    if (!field->connections) die("memory");
    return field;
}

/* Adds a thread's counts to the round. */
static void add_field(struct round *round, struct field *field) {
    const struct round *part = &field->round;
    const size_t before = (size_t)round->done, more = (size_t)part->done;
    round->latencies_ms = realloc(round->latencies_ms, (before + more + 1) * sizeof(double));
    if (!round->latencies_ms) die("memory");
    if (more) memcpy(round->latencies_ms + before, part->latencies_ms, more * sizeof(double));
    round->done += part->done;
    round->failed += part->failed;
    round->wrong += part->wrong;
    round->reopened += part->reopened;
    round->bytes += part->bytes;
    free(part->latencies_ms);
    close(field->events);
    free(field->connections);
    free(field);
}

static double run(const struct options *options, const struct request *requests, int files,
                  int concurrency, struct round *round) {
    if (options->count && options->count < concurrency) concurrency = (int)options->count;
    const int threads = options->threads < concurrency ? options->threads : concurrency;
    struct field *fields[THREADS_MAX];
    const int64_t start = now_ns();
    for (int i = 0; i < threads; i++) {
        fields[i] = make_field(options, requests, files, concurrency, i, threads);
        if (pthread_create(&fields[i]->thread, NULL, run_field, fields[i])) die("thread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(fields[i]->thread, NULL);
        add_field(round, fields[i]);
    }
    return (double)(now_ns() - start) / 1e9;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct round *round, double p) {
    return round->done ? round->latencies_ms[(size_t)(p * (double)(round->done - 1))] : 0;
}

static void print_round(const struct options *options, int concurrency, struct round *round,
                        double seconds, bool first) {
    qsort(round->latencies_ms, (size_t)round->done, sizeof(double), ascending);
    const double rate = (double)round->done / seconds;
    if (options->json)
        printf("%s{\"concurrency\": %d, \"requests_s\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, "
               "\"max_ms\": %.3f, \"requests\": %ld, \"failed\": %ld, \"wrong\": %ld, "
               "\"reopened\": %ld, \"mb_s\": %.1f}",
               first ? "" : ",\n ", concurrency, rate, percentile(round, 0.5),
               percentile(round, 0.99), percentile(round, 1), round->done, round->failed,
               round->wrong, round->reopened, (double)round->bytes / seconds / 1e6);
    else
        printf("%11d %12.1f %9.3f %9.3f %9.3f %9ld %7ld %9ld\n", concurrency, rate,
               percentile(round, 0.5), percentile(round, 0.99), percentile(round, 1), round->done,
               round->failed, round->reopened);
    fflush(stdout);
}

/* ---- options */

static void usage(int code) {
    fputs("usage: load [--port 8080] [--path /histeq] [--concurrency 1,16,64]\n"
          "            [--seconds 5 | --count N] [--threads 1] [--accept TYPE] [--raw] [--json]\n"
          "            FILE...\n\n"
          "Requests a second and latencies (p50, p99, max in ms) of a daemon on 127.0.0.1, one\n"
          "round for each number of connections. A connection sends one request after the other\n"
          "and is kept alive. Only an answer with status 200 and its whole body counts, and an\n"
          "image only if it is the same as the first one to the same file (length, first and\n"
          "last bytes; every 64th: all of it); the others are counted under \"failed\". Under\n"
          "\"reopened\" are connections that the server closed between two requests.\n\n"
          "  --port N          of the daemon (default 8080)\n"
          "  --from ADDRESS    the client's, for several clients on one machine: 127.0.0.2\n"
          "  --path PATH       what is asked for (default /histeq)\n"
          "  --concurrency N,  connections at once, a round each, 1 to 4096 (default 1,16,64)\n"
          "  --seconds N       length of a round (default 5)\n"
          "  --count N         end a round after N requests instead\n"
          "  --threads N       of this program (default 1)\n"
          "  --accept TYPE     the Accept header; none by default\n"
          "  --raw             send the file as the body, not as multipart/form-data\n"
          "  --sendfile        send by sendfile(2), which copies nothing: the client is\n"
          "                    cheaper, and the daemon dearer, for it receives page by page\n"
          "  --json            print JSON and no table\n",
          code ? stderr : stdout);
    exit(code);
}

static void set_levels(struct options *options, char *list) {
    options->levels = 0;
    for (char *item; (item = strsep(&list, ",")) && options->levels < LEVELS_MAX;) {
        const int level = atoi(item);
        if (level < 1 || level > CONNECTIONS_MAX) usage(2);
        options->concurrency[options->levels++] = level;
    }
}

static int parse(struct options *options, int argc, char **argv) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *name = argv[i] + 2;
        if (strcmp(name, "help") == 0) usage(0);
        if (strcmp(name, "json") == 0) {
            options->json = true;
            continue;
        }
        if (strcmp(name, "sendfile") == 0) {
            options->sendfile = true;
            continue;
        }
        if (strcmp(name, "raw") == 0) {
            options->raw = true;
            continue;
        }
        if (++i >= argc) usage(2);
        if (strcmp(name, "port") == 0)
            options->port = atoi(argv[i]);
        else if (strcmp(name, "threads") == 0)
            options->threads = atoi(argv[i]);
        else if (strcmp(name, "from") == 0) {
            if (inet_pton(AF_INET, argv[i], &options->from) != 1) usage(2);
        } else if (strcmp(name, "path") == 0)
            options->path = argv[i];
        else if (strcmp(name, "accept") == 0)
            options->accept = argv[i];
        else if (strcmp(name, "seconds") == 0)
            options->seconds = atof(argv[i]);
        else if (strcmp(name, "count") == 0)
            options->count = atol(argv[i]);
        else if (strcmp(name, "concurrency") == 0)
            set_levels(options, argv[i]);
        else
            usage(2);
    }
    return i;
}

int main(int argc, char **argv) {
    struct options options = {

        .port = 8080,
        .threads = 1,
        .path = "/histeq",
        .seconds = 5,
        .levels = 3,
        .concurrency = { 1, 16, 64 }
    };
    struct request requests[FILES_MAX];
    int files = 0, failed = 0;
    for (int i = parse(&options, argc, argv); i < argc && files < FILES_MAX; i++)
        requests[files++] = request_make(options.path, options.accept, NULL, options.raw, argv[i]);
    if (!files || options.threads < 1 || options.threads > THREADS_MAX) usage(2);
    if (options.json)
        printf("[");
    else
        printf(
            "concurrency   requests/s    p50 ms    p99 ms    max ms  requests  failed  reopened\n");
    for (int l = 0; l < options.levels; l++) {
        struct round round = { 0 };
        const double seconds = run(&options, requests, files, options.concurrency[l], &round);
        print_round(&options, options.concurrency[l], &round, seconds, l == 0);
        failed |= round.failed != 0;
        free(round.latencies_ms);
    }
    if (options.json) printf("]\n");
    for (int i = 0; i < files; i++) close(requests[i].file);
    return failed;
}
