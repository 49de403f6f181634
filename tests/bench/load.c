// SPDX-License-Identifier: Apache-2.0
/* load - drives a running daemon with one request after the other on each of a number of
 * connections, and prints requests a second and latencies by concurrency.
 *
 *     build/cuda/tests/bench/load --port 8080 --path /histeq --concurrency 1,16,64 photo.jpg
 *
 * How it works. One thread waits with epoll for all connections of a round; each sends its next
 * request when the last answer is complete. The head of an answer is read for its status and
 * Content-Length; the body is counted and dropped. An answer counts only with status 200 and its
 * whole body. A connection that the server closes between two requests is opened anew, and counted:
 * such a server costs its clients that. Several files are sent in turn. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_MAX = 65536, FILES_MAX = 64, CONNECTIONS_MAX = 4096, LEVELS_MAX = 16 };

struct request {
    char *bytes;
    size_t length;
};

struct options {
    int port, levels, concurrency[LEVELS_MAX];
    const char *path, *accept;
    double seconds;
    long count;
    bool json, raw;
};

struct connection {
    int fd;
    const struct request *request;
    size_t sent;
    char *head; /* what came of one that came in pieces; room for HEAD_MAX */
    size_t head_length;
    long body_left; /* -1: the head is not complete */
    int status;
    bool closes;  /* the answer says that the connection ends */
    long answers; /* complete ones on this connection */
    int64_t start_ns;
};

struct round {
    long done, failed, reopened; /* reopened: connections that the server closed in between */
    double *latencies_ms;
    size_t capacity;
    uint64_t bytes;
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "not understood; see --help");
    exit(1);
}

/* ---- requests */

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    if (!bytes || fread(bytes, 1, *length, file) != *length) die(path);
    fclose(file);
    return bytes;
}

static struct request make_request(const struct options *options, const char *path) {
    size_t length;
    char *file = read_file(path, &length), *text = NULL;
    struct request request = { 0 };
    FILE *out = open_memstream(&text, &request.length);
    static const char head[] = "--b7\r\nContent-Disposition: form-data; name=\"image\"; "
                               "filename=\"f\"\r\nContent-Type: image/jpeg\r\n\r\n";
    static const char tail[] = "\r\n--b7--\r\n";
    const size_t body = length + (options->raw ? 0 : sizeof head + sizeof tail - 2);
    fprintf(out, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n", options->path,
            body);
    if (options->accept) fprintf(out, "Accept: %s\r\n", options->accept);
    fprintf(out, "Content-Type: %s\r\n\r\n",
            options->raw ? "application/octet-stream" : "multipart/form-data; boundary=b7");
    if (!options->raw) fputs(head, out);
    fwrite(file, 1, length, out);
    if (!options->raw) fputs(tail, out);
    fclose(out);
    free(file);
    request.bytes = text;
    return request;
}

/* ---- connections */

static void open_connection(struct connection *c, int port) {
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(c->fd, (const struct sockaddr *)&address, sizeof address) < 0) die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

static void begin(struct connection *c, const struct request *request) {
    c->request = request;
    c->sent = c->head_length = 0;
    c->body_left = -1;
    c->start_ns = now_ns();
}

static bool push(struct connection *c) {
    while (c->sent < c->request->length) {
        const ssize_t n =
            send(c->fd, c->request->bytes + c->sent, c->request->length - c->sent, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN;
        c->sent += (size_t)n;
    }
    return true;
}

/* Is the head complete in the LENGTH bytes at TEXT, which a zero byte follows? Then how much body
 * is still to come. */
static void read_head(struct connection *c, const char *text, size_t length) {
    const char *end = strstr(text, "\r\n\r\n");
    if (!end) return;
    const char *field = strcasestr(text, "\r\ncontent-length:");
    const char *closing = strcasestr(text, "\r\nconnection: close");
    c->status = atoi(text + 9);
    c->closes = closing && closing < end;
    c->body_left = field && field < end ? atol(field + 17) : 0;
    c->body_left -= (long)(length - (size_t)(end + 4 - text));
}

/* A head that comes in pieces is put together; most come whole, and stay where they were read. */
static void take_head(struct connection *c, char *bytes, size_t length) {
    bytes[length] = 0;
    if (!c->head_length) read_head(c, bytes, length);
    if (c->body_left >= 0) return;
    if (!c->head) c->head = malloc(HEAD_MAX);
    if (!c->head || c->head_length + length >= HEAD_MAX) die("an answer's head");
    memcpy(c->head + c->head_length, bytes, length + 1);
    c->head_length += length;
    read_head(c, c->head, c->head_length);
}

/* 1: an answer is complete; 0: more to come; -1: the connection broke. All connections read into
 * the same memory: a client that fills the caches would slow down the server beside it. */
static int pull(struct connection *c, struct round *round) {
    static char bytes[1 << 18];
    for (;;) {
        const ssize_t n = recv(c->fd, bytes, sizeof bytes - 1, 0);
        if (n < 0) return errno == EAGAIN ? 0 : -1;
        if (n == 0) return -1;
        round->bytes += (uint64_t)n;
        if (c->body_left < 0)
            take_head(c, bytes, (size_t)n);
        else
            c->body_left -= n;
        if (c->body_left == 0) return 1;
    }
}

static void note(struct round *round, const struct connection *c) {
    if (c->status != 200) {
        round->failed++;
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

struct field {
    const struct options *options;
    const struct request *requests;
    int files, events, busy; /* busy: connections that are still asking */
    struct connection *connections;
    long next; /* request */
    int64_t end_ns;
    struct round *round;
};

static void open_and_watch(struct field *field, struct connection *c) {
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
                                 .data.u32 = (uint32_t)(c - field->connections) };
    open_connection(c, field->options->port);
    if (epoll_ctl(field->events, EPOLL_CTL_ADD, c->fd, &event) < 0) die("epoll");
}

static void close_connection(struct connection *c) {
    close(c->fd);
    c->fd = -1;
}

static bool more_to_ask(const struct field *field) {
    return field->options->count ? field->next < field->options->count : now_ns() < field->end_ns;
}

/* Nothing is unread, so the answer makes an event of its own; so does a failure to send. */
static void ask_next(struct field *field, struct connection *c) {
    begin(c, &field->requests[field->next++ % field->files]);
    push(c);
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
    const bool between = c->answers > 0 && !c->head_length && c->body_left < 0;
    close_connection(c);
    c->answers = 0;
    if (!between) {
        field->round->failed++;
        go_on(field, c);
        return;
    }
    field->round->reopened++;
    const int64_t start_ns = c->start_ns;
    open_and_watch(field, c);
    begin(c, c->request);
    c->start_ns = start_ns;
    push(c);
}

static void handle_event(struct field *field, struct connection *c) {
    if (c->fd < 0) return; /* closed in this turn */
    const int done = push(c) ? pull(c, field->round) : -1;
    if (done < 0) {
        handle_end(field, c);
    } else if (done > 0) {
        note(field->round, c);
        if (c->closes) {
            close_connection(c);
            c->answers = -1; /* the next one will have had none */
            field->round->reopened++;
        }
        go_on(field, c);
    }
}

static double run(const struct options *options, const struct request *requests, int files,
                  int concurrency, struct round *round) {
    const int64_t start = now_ns();
    struct field field = { .options = options,
                           .requests = requests,
                           .files = files,
                           .events = epoll_create1(EPOLL_CLOEXEC),
                           .busy = concurrency,
                           .connections = calloc((size_t)concurrency, sizeof(struct connection)),
                           .end_ns = start + (int64_t)(options->seconds * 1e9),
                           .round = round };
    if (!field.connections) die("memory");
    for (int i = 0; i < concurrency; i++) {
        open_and_watch(&field, &field.connections[i]);
        ask_next(&field, &field.connections[i]);
    }
    while (field.busy > 0) {
        struct epoll_event ready[256];
        const int count = epoll_wait(field.events, ready, 256, 1000);
        for (int i = 0; i < count; i++) handle_event(&field, &field.connections[ready[i].data.u32]);
    }
    const double seconds = (double)(now_ns() - start) / 1e9;
    for (int i = 0; i < concurrency; i++) free(field.connections[i].head);
    close(field.events);
    free(field.connections);
    return seconds;
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
               "\"max_ms\": %.3f, \"requests\": %ld, \"failed\": %ld, \"reopened\": %ld, "
               "\"mb_s\": %.1f}",
               first ? "" : ",\n ", concurrency, rate, percentile(round, 0.5),
               percentile(round, 0.99), percentile(round, 1), round->done, round->failed,
               round->reopened, (double)round->bytes / seconds / 1e6);
    else
        printf("%11d %12.1f %9.3f %9.3f %9.3f %9ld %7ld %9ld\n", concurrency, rate,
               percentile(round, 0.5), percentile(round, 0.99), percentile(round, 1), round->done,
               round->failed, round->reopened);
    fflush(stdout);
}

/* ---- options */

static void usage(int code) {
    fputs(
        "usage: load [--port 8080] [--path /histeq] [--concurrency 1,16,64]\n"
        "            [--seconds 5 | --count N] [--accept TYPE] [--raw] [--json] FILE...\n\n"
        "Requests a second and latencies (p50, p99, max in ms) of a daemon on 127.0.0.1, one\n"
        "round for each number of connections. A connection sends one request after the other\n"
        "and is kept alive. Only an answer with status 200 and its whole body counts; the\n"
        "others are counted under \"failed\". Under \"reopened\" are connections that the server\n"
        "closed between two requests.\n\n"
        "  --port N          of the daemon (default 8080)\n"
        "  --path PATH       what is asked for (default /histeq)\n"
        "  --concurrency N,  connections at once, a round each, 1 to 4096 (default 1,16,64)\n"
        "  --seconds N       length of a round (default 5)\n"
        "  --count N         end a round after N requests instead\n"
        "  --accept TYPE     the Accept header; none by default\n"
        "  --raw             send the file as the body, not as multipart/form-data\n"
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
        if (strcmp(name, "raw") == 0) {
            options->raw = true;
            continue;
        }
        if (++i >= argc) usage(2);
        if (strcmp(name, "port") == 0)
            options->port = atoi(argv[i]);
        else if (strcmp(name, "path") == 0)
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
        .port = 8080, .path = "/histeq", .seconds = 5, .levels = 3, .concurrency = { 1, 16, 64 }
    };
    struct request requests[FILES_MAX];
    int files = 0, failed = 0;
    for (int i = parse(&options, argc, argv); i < argc && files < FILES_MAX; i++)
        requests[files++] = make_request(&options, argv[i]);
    if (!files) usage(2);
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
    for (int i = 0; i < files; i++) free(requests[i].bytes);
    return failed;
}
