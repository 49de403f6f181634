// SPDX-License-Identifier: Apache-2.0
/* overload - asks a running daemon for more than it can do, and prints what came of it as JSON.
 *
 *     build/cpu/tests/bench/overload --port 8080 --rate 10000 --connections 1000 photo.jpg
 *
 * How it works. Closed loop: each connection sends its next request when it has its answer,
 * good or not. Open loop: requests are due at a fixed rate; each takes a connection that is
 * idle, or opens one; when all are busy it is not sent, and counted. With --fresh each request has
 * a connection of its own. One thread and an epoll of its own move all of it, so that the client
 * needs one core; two more ask for /livez meanwhile. Times count from when a request is sent,
 * connecting included, to the last byte of its answer. Those still under way at the end are counted
 * apart. */
#include "tests/bench/load_answer.h"
#include "tests/bench/load_request.h"
#include "tests/bench/overload_probe.h"
#include "tests/bench/overload_times.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

enum { CONNECTIONS_MAX = 20000, ROOM = 1 << 18, EVENTS = 256 };

struct options {
    int port, admin_port, connections;
    double rate, warm, seconds; /* rate 0: closed loop */
    const char *path, *origin;  /* origin NULL: none */
    bool fresh;
};

struct connection {
    int fd; /* -1: none */
    bool busy;
    size_t sent;
    struct answer answer;
    int64_t start_ns;
};

struct client {
    const struct options *options;
    struct request request;
    struct known known;
    struct connection *connections;
    int *idle, idle_count; /* a stack: the fewest connections that do are used */
    int events;
    uint64_t bytes;
    struct times good, refused;
    struct probe livez, admin;
    long due, unsent, other, wrong, broken, opened;
};

/* ---- a connection */

static bool open_connection(struct client *client, struct connection *c) {
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)client->options->port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int on = 1;
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
                                 .data.u32 = (uint32_t)(c - client->connections) };
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0) return false;
    client->opened++;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const bool connected = connect(c->fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
                           errno == EINPROGRESS;
    return connected && epoll_ctl(client->events, EPOLL_CTL_ADD, c->fd, &event) == 0;
}

static void close_connection(struct connection *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

static bool push(const struct client *client, struct connection *c) {
    while (c->sent < client->request.length) {
        const ssize_t n = send(c->fd, client->request.bytes + c->sent,
                               client->request.length - c->sent, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == ENOTCONN;
        c->sent += (size_t)n;
    }
    return true;
}

static void finish(struct client *client, struct connection *c) {
    c->busy = false;
    client->idle[client->idle_count++] = (int)(c - client->connections);
}

/* false: there is no connection for it. */
static bool ask(struct client *client, struct connection *c) {
    c->start_ns = now_ns();
    c->busy = true;
    c->sent = 0;
    answer_begin(&c->answer, &client->known);
    if ((c->fd >= 0 || open_connection(client, c)) && push(client, c)) return true;
    client->broken++;
    close_connection(c);
    finish(client, c);
    return false;
}

/* ---- answers */

static void note(struct client *client, const struct connection *c) {
    const int64_t taken = now_ns() - c->start_ns;
    client->wrong += c->answer.wrong;
    if (c->answer.status == 200 && !c->answer.wrong)
        times_add(&client->good, taken);
    else if (c->answer.status == 503)
        times_add(&client->refused, taken);
    else
        client->other++;
}

static void handle_event(struct client *client, struct connection *c, uint32_t events,
                         char *bytes) {
    if (c->fd < 0) return;
    if (!c->busy) { /* nothing is asked: the server has closed it */
        if (events & (EPOLLHUP | EPOLLERR | EPOLLIN)) close_connection(c);
        return;
    }
    enum answer_progress done = ANSWER_MORE;
    const bool sent = push(client, c); /* a refusal may be there, though the rest cannot be sent */
    if (!sent || events & ~(uint32_t)EPOLLOUT)
        done = answer_read(&c->answer, c->fd, bytes, ROOM, &client->bytes);
    if (done == ANSWER_MORE && sent) return;
    if (done == ANSWER_COMPLETE)
        note(client, c);
    else
        client->broken++;
    if (done != ANSWER_COMPLETE || c->answer.closes || client->options->fresh ||
        c->sent < client->request.length)
        close_connection(c);
    finish(client, c);
}

/* A client that spun would slow down a server on the same core's other thread. */
static void take_events(struct client *client, int64_t timeout_ns, char *bytes) {
    struct epoll_event ready[EVENTS];
    const struct timespec timeout = { .tv_nsec = timeout_ns };
    const int count = epoll_pwait2(client->events, ready, EVENTS, &timeout, NULL);
    for (int i = 0; i < count; i++)
        handle_event(client, &client->connections[ready[i].data.u32], ready[i].events, bytes);
}

/* ---- what is asked when */

/* One that breaks at once is tried again in the next turn. */
static void ask_closed(struct client *client) {
    for (int i = client->idle_count; i > 0 && client->idle_count > 0; i--)
        ask(client, &client->connections[client->idle[--client->idle_count]]);
}

static void ask_open(struct client *client, int64_t start) {
    const long due = (long)((double)(now_ns() - start) / 1e9 * client->options->rate);
    for (; client->due < due; client->due++) {
        if (client->idle_count == 0)
            client->unsent++;
        else
            ask(client, &client->connections[client->idle[--client->idle_count]]);
    }
}

/* Opening all connections at once is no part of what is measured. */
static void begin_counting(struct client *client) {
    client->good.count = client->refused.count = 0;
    client->other = client->broken = client->opened = client->unsent = 0;
    probe_count(&client->livez);
    probe_count(&client->admin);
    puts("begun");
    fflush(stdout);
}

static double run(struct client *client) {
    static char bytes[ROOM];
    const int64_t start = now_ns(), begin = start + (int64_t)(client->options->warm * 1e9);
    const int64_t end = begin + (int64_t)(client->options->seconds * 1e9);
    for (bool begun = false; now_ns() < end;) {
        if (!begun && now_ns() >= begin) {
            begin_counting(client);
            begun = true;
        }
        if (client->options->rate > 0)
            ask_open(client, start);
        else
            ask_closed(client);
        const double rate = client->options->rate;
        take_events(client, rate > 500 ? (int64_t)(1e9 / rate) : 2000000, bytes);
    }
    return (double)(now_ns() - begin) / 1e9;
}

static void print(struct client *client, double seconds) {
    long waiting = 0;
    int64_t oldest = 0;
    const int64_t now = now_ns();
    for (int i = 0; i < client->options->connections; i++) {
        const struct connection *c = &client->connections[i];
        answer_release(&client->connections[i].answer);
        waiting += c->busy;
        if (c->busy && now - c->start_ns > oldest) oldest = now - c->start_ns;
    }
    printf("{\"seconds\": %.3f, \"good_s\": %.1f, \"refused_s\": %.1f, ", seconds,
           (double)client->good.count / seconds, (double)client->refused.count / seconds);
    times_print(&client->good, "good");
    printf(", ");
    times_print(&client->refused, "refused");
    printf(", \"due\": %ld, \"unsent\": %ld, \"other\": %ld, \"wrong\": %ld, \"broken\": %ld, "
           "\"opened\": %ld, \"waiting\": %ld, \"oldest_ms\": %.1f, ",
           client->due, client->unsent, client->other, client->wrong, client->broken,
           client->opened, waiting, (double)oldest / 1e6);
    times_print(&client->livez.times, "livez");
    printf(", ");
    times_print(&client->admin.times, "admin_livez");
    printf(", \"livez_failed\": %ld}\n", client->livez.failed + client->admin.failed);
}

/* ---- options */

static void usage(int code) {
    fputs("usage: overload [--port 8080] [--admin-port N] [--path /histeq] [--connections 640]\n"
          "                [--rate N] [--fresh] [--origin X] [--warm 1] [--seconds 5] FILE\n\n"
          "Asks a daemon on 127.0.0.1 for more than it can do and prints, as JSON, good answers\n"
          "and refusals (503) a second, their times, and those of /livez, asked meanwhile on\n"
          "connections of their own. Only a 200 with the same image as before is good.\n\n"
          "  --connections N   at once (default 640, at most 20000)\n"
          "  --rate N          requests a second that are due, answered or not: open loop.\n"
          "                    Without it each connection asks again when it has its answer\n"
          "  --fresh           a connection of its own for each request\n"
          "  --origin X        what a browser sends with a request of a page of X\n"
          "  --warm N          seconds before anything is counted\n"
          "  --admin-port N    where /livez is asked too\n",
          code ? stderr : stdout);
    exit(code);
}

static const char *parse(struct options *options, int argc, char **argv) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *name = argv[i] + 2;
        if (strcmp(name, "help") == 0) usage(0);
        if (strcmp(name, "fresh") == 0) {
            options->fresh = true;
            continue;
        }
        if (++i >= argc) usage(2);
        if (strcmp(name, "port") == 0)
            options->port = atoi(argv[i]);
        else if (strcmp(name, "admin-port") == 0)
            options->admin_port = atoi(argv[i]);
        else if (strcmp(name, "path") == 0)
            options->path = argv[i];
        else if (strcmp(name, "origin") == 0)
            options->origin = argv[i];
        else if (strcmp(name, "connections") == 0)
            options->connections = atoi(argv[i]);
        else if (strcmp(name, "rate") == 0)
            options->rate = atof(argv[i]);
        else if (strcmp(name, "warm") == 0)
            options->warm = atof(argv[i]);
        else if (strcmp(name, "seconds") == 0)
            options->seconds = atof(argv[i]);
        else
            usage(2);
    }
    if (i + 1 != argc || options->connections < 1 || options->connections > CONNECTIONS_MAX)
        usage(2);
    return argv[i];
}

int main(int argc, char **argv) {
    struct options options = {
        .port = 8080, .path = "/histeq", .connections = 640, .warm = 1, .seconds = 5
    };
    const char *file = parse(&options, argc, argv);
    const size_t count = (size_t)options.connections;
    struct client client = { .options = &options,
                             .request =
                                 request_make(options.path, NULL, options.origin, false, file),
                             .connections = calloc(count, sizeof(struct connection)),
                             .idle = calloc(count, sizeof(int)),
                             .events = epoll_create1(EPOLL_CLOEXEC) };
    if (!client.connections || !client.idle || client.events < 0) die("memory");
    for (int i = options.connections - 1; i >= 0; i--) {
        client.connections[i].fd = -1;
        client.idle[client.idle_count++] = i;
    }
    probe_begin(&client.livez, options.port);
    probe_begin(&client.admin, options.admin_port);
    const double seconds = run(&client);
    puts("ended"); /* the caller now reads the daemon's times */
    fflush(stdout);
    probe_end(&client.livez);
    probe_end(&client.admin);
    print(&client, seconds);
    return 0;
}
