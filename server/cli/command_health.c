// SPDX-License-Identifier: Apache-2.0
/* burin health: GET /readyz or /livez over a plain socket, for containers that have no curl.
 *
 * How it works. An address, from --url or from the configuration, becomes a `struct target`. Every
 * address of its host is tried in turn. The socket does not block: each step polls until one common
 * deadline, so that all together take at most 5 s. The answer is read until the daemon closes the
 * connection. */
#include "config/config.h"
#include "pipeline/param.h"
#include "pipeline/timing.h"
#include "server/cli/command.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TIMEOUT_MS = 5000, ANSWER_MAX = 64 << 10, HOST_MAX = 256 };

struct target {
    char host[HOST_MAX];
    char port[8];
    char path[HOST_MAX];
    char socket[sizeof((struct sockaddr_un *)0)->sun_path]; /* "": host and port */
};

/* ---- where to ask */

/* TEXT is IP:PORT, [IPv6]:PORT, a host's name with or without a port, or unix:/path. */
static bool read_address(struct target *target, const char *text) {
    if (strncmp(text, "unix:", 5) == 0) {
        const int length = snprintf(target->socket, sizeof target->socket, "%s", text + 5);
        snprintf(target->host, sizeof target->host, "localhost");
        return length > 0 && (size_t)length < sizeof target->socket;
    }
    const char *end = text + strlen(text), *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');
    if (colon && (!bracket || colon > bracket)) {
        long port;
        if (!param_integer(colon + 1, &port) || port < 1 || port > 65535) return false;
        snprintf(target->port, sizeof target->port, "%ld", port);
        end = colon;
    } else {
        snprintf(target->port, sizeof target->port, "80");
    }
    if (*text == '[' && bracket == end - 1) text++, end--;
    if (end <= text || end - text >= HOST_MAX) return false;
    snprintf(target->host, sizeof target->host, "%.*s", (int)(end - text), text);
    return true;
}

/* URL is http://HOST[:PORT][/path]. */
static bool read_url(struct target *target, const char *url) {
    char address[HOST_MAX];
    if (strncmp(url, "http://", 7) != 0) return false;
    url += 7;
    const size_t length = strcspn(url, "/");
    if (length >= sizeof address || strlen(url + length) >= sizeof target->path) return false;
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c == 127) return false;
    snprintf(address, sizeof address, "%.*s", (int)length, url);
    if (url[length] && url[length + 1])
        snprintf(target->path, sizeof target->path, "%s", url + length);
    return read_address(target, address);
}

/* ---- asking */

static int left_ms(int64_t deadline_ns) {
    const int64_t left = (deadline_ns - clock_ns()) / 1000000;
    return left > 0 ? (int)left : 0;
}

static bool wait_for(int fd, short events, int64_t deadline_ns) {
    struct pollfd poll_fd = { .fd = fd, .events = events };
    int ready;
    do {
        ready = poll(&poll_fd, 1, left_ms(deadline_ns));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
}

/* A connected socket, or -1 and errno. */
static int try_address(const struct sockaddr *address, socklen_t length, int64_t deadline_ns) {
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    int error = connect(fd, address, length) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        socklen_t size = sizeof error;
        error = ETIMEDOUT;
        if (wait_for(fd, POLLOUT, deadline_ns)) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (!error) return fd;
    close(fd);
    errno = error;
    return -1;
}

static int connect_to(const struct target *target, int64_t deadline_ns) {
    if (*target->socket) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        memcpy(address.sun_path, target->socket, sizeof target->socket);
        return try_address((struct sockaddr *)&address, sizeof address, deadline_ns);
    }
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (getaddrinfo(target->host, target->port, &hints, &found) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = try_address(at->ai_addr, at->ai_addrlen, deadline_ns);
    freeaddrinfo(found);
    return fd;
}

static bool send_request(int fd, const struct target *target, int64_t deadline_ns) {
    char request[3 * HOST_MAX];
    const bool six = strchr(target->host, ':') != NULL;
    const int length = snprintf(request, sizeof request,
                                "GET %s HTTP/1.1\r\nHost: %s%s%s%s%s\r\nConnection: close\r\n\r\n",
                                target->path, six ? "[" : "", target->host, six ? "]" : "",
                                *target->port ? ":" : "", target->port);
    /* The request is small enough for any socket's buffer. */
    return wait_for(fd, POLLOUT, deadline_ns) &&
           send(fd, request, (size_t)length, MSG_NOSIGNAL) == length;
}

/* Reads until the daemon closes the connection; false on an error. TEXT ends with a zero byte. */
static bool receive(int fd, char *text, int64_t deadline_ns) {
    size_t used = 0;
    while (used + 1 < ANSWER_MAX) {
        if (!wait_for(fd, POLLIN, deadline_ns)) return false;
        const ssize_t got = recv(fd, text + used, ANSWER_MAX - 1 - used, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0) return false;
        if (got == 0) break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return true;
}

/* Prints the body; returns 0 if the status is 200. */
static int judge(const char *text) {
    const char *body = strstr(text, "\r\n\r\n");
    if (strncmp(text, "HTTP/1.", 7) != 0 || strlen(text) < 12 || !body) {
        fputs("burin health: what answers there is no HTTP server\n", stderr);
        return 1;
    }
    puts(body + 4);
    return strncmp(text + 8, " 200", 4) == 0 ? 0 : 1;
}

static int ask(const struct target *target) {
    static char text[ANSWER_MAX];
    const int64_t deadline_ns = clock_ns() + TIMEOUT_MS * INT64_C(1000000);
    const int fd = connect_to(target, deadline_ns);
    const bool answered =
        fd >= 0 && send_request(fd, target, deadline_ns) && receive(fd, text, deadline_ns);
    if (!answered)
        fprintf(stderr, "burin health: no answer from %s%s%s: %s\n",
                *target->socket ? target->socket : target->host, *target->port ? ":" : "",
                target->port, strerror(errno));
    if (fd >= 0) close(fd);
    return answered ? judge(text) : 1;
}

/* ---- the command */

static int usage(FILE *out, int code) {
    fputs(
        "usage: burin health [--live] [--url http://HOST:PORT] [--config FILE] [--KEY VALUE]...\n\n"
        "Prints the answer of GET /readyz. The exit status is 0 if the daemon is ready, 1 if it\n"
        "is not or does not answer within 5 s. Without --url it asks at admin_listen or listen\n"
        "of the configuration.\n\n"
        "  --live   ask GET /livez instead: whether the daemon is alive, even while it is busy or\n"
        "           stopping. A supervisor that restarts it asks /livez; a load balancer /readyz\n",
        out);
    return code;
}

static int complain(const char *message) {
    fprintf(stderr, "burin health: %s\n", message);
    return 2;
}

/* Removes --url and --live from the arguments; returns the URL, or NULL. */
static const char *take_own(int *argc, char **argv, bool *live) {
    const char *url = NULL;
    int left = 0;
    for (int i = 0; i < *argc; i++) {
        if (strncmp(argv[i], "--url=", 6) == 0)
            url = argv[i] + 6;
        else if (strcmp(argv[i], "--url") == 0)
            url = i + 1 < *argc ? argv[++i] : "";
        else if (strcmp(argv[i], "--live") == 0)
            *live = true;
        else
            argv[left++] = argv[i];
    }
    *argc = left;
    argv[left] = NULL;
    return url;
}

int command_health(int argc, char **argv) {
    struct target target = { .path = "/readyz" };
    struct config config;
    struct failure failure = { 0 };
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout, 0);
    bool live = false;
    const char *url = take_own(&argc, argv, &live);
    if (live) snprintf(target.path, sizeof target.path, "/livez");
    if (url && argc > 1) return complain("--url cannot be given together with other arguments");
    if (url && !read_url(&target, url)) return complain("--url must be http://HOST[:PORT][/path]");
    if (!url) {
        if (config_load(&config, NULL, &argc, argv, &failure)) return complain(failure.message);
        if (argc > 1) return usage(stderr, 2);
        const char *listen = *config.admin_listen ? config.admin_listen : config.listen;
        if (!read_address(&target, listen))
            return complain("the address in listen is invalid: see burin config");
    }
    return ask(&target);
}
