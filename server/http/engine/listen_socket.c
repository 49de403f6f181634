// SPDX-License-Identifier: Apache-2.0
/* How it works. Addresses are numeric: no name is resolved, and `localhost` means the loopback
 * addresses of both families (RFC 6761). The file of a unix socket is remembered
 * by device and inode, so that only our own is removed. A socket filter ignores new connections: it
 * drops the first packet of each. */
#include "server/http/engine/listen_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int bind_to(const struct sockaddr *address, socklen_t length, const char *text,
                   const char *flag, struct failure *failure) {
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && bind(fd, address, length) == 0 && listen(fd, BACKLOG) == 0) return fd;
    const int error = errno;
    const bool taken = error == EADDRINUSE;
    fail(failure, STATUS_INTERNAL, "cannot listen on %.100s: %s%s%s", text, strerror(error),
         taken ? "; stop the other program or choose another port with " : "", taken ? flag : "");
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

/* Whether a program may listen at ADDRESS: only a refused connection proves that none does. */
static bool is_live(const struct sockaddr_un *address) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return true;
    const bool refused = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
                         (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    return !refused;
}

/* Removes the socket of a killed daemon, and no other file. */
static enum status remove_stale(const struct sockaddr_un *address, struct failure *failure) {
    struct stat info;
    if (lstat(address->sun_path, &info) < 0) return STATUS_OK; /* bind reports what else is wrong */
    if (!S_ISSOCK(info.st_mode))
        return fail(failure, STATUS_INTERNAL,
                    "%.110s exists already and is not a socket; choose another path",
                    address->sun_path);
    if (is_live(address))
        return fail(failure, STATUS_INTERNAL,
                    "%.110s is in use; stop the other program or choose another path",
                    address->sun_path);
    unlink(address->sun_path);
    return STATUS_OK;
}

static void remember(const char *path, struct socket_file *file) {
    struct stat info;
    if (lstat(path, &info) < 0) return;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->device = info.st_dev;
    file->inode = info.st_ino;
}

void listen_socket_remove_file(struct socket_file *file) {
    struct stat info;
    if (*file->path && lstat(file->path, &info) == 0 && info.st_dev == file->device &&
        info.st_ino == file->inode)
        unlink(file->path);
    file->path[0] = '\0';
}

static int open_unix(const char *path, const char *text, const char *flag, struct socket_file *file,
                     struct failure *failure) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (!*path || strlen(path) >= sizeof address.sun_path)
        return fail(failure, STATUS_BAD_PARAM,
                    "the path of the unix socket, \"%.60s\", is empty or too long", path),
               -1;
    strcpy(address.sun_path, path);
    if (remove_stale(&address, failure)) return -1;
    const int fd = bind_to((struct sockaddr *)&address, sizeof address, text, flag, failure);
    if (fd >= 0) remember(path, file);
    return fd;
}

/* "host:port" with brackets around an IPv6 host. */
static bool split(const char *text, char *host, size_t size, const char **port) {
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1]) return false;
    const char *start = text, *end = colon;
    if (*start == '[' && end[-1] == ']') start++, end--;
    if ((size_t)(end - start) >= size) return false;
    snprintf(host, size, "%.*s", (int)(end - start), start);
    *port = colon + 1;
    return true;
}

/* Returns a descriptor of the numeric HOST and PORT; TEXT is the address as it was given. */
static int open_numeric(const char *host, const char *port, const char *text, const char *flag,
                        bool insecure, struct failure *failure) {
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        fail(failure, STATUS_BAD_PARAM,
             "\"%.60s\" is not an address to listen on; use IP:PORT such as 127.0.0.1:8080 or "
             "[::1]:8080, localhost:8080, or unix:/path",
             text);
        return -1;
    }
    int fd = -1;
    if (!insecure && !is_loopback(found->ai_addr))
        fail(failure, STATUS_BAD_PARAM,
             "%.60s can be reached from other machines, and nobody is asked who they are: use "
             "--keys-file (BURIN_KEYS_FILE; for --listen alone), or where a proxy asks --insecure "
             "(BURIN_INSECURE=true)",
             text);
    else
        fd = bind_to(found->ai_addr, found->ai_addrlen, text, flag, failure);
    freeaddrinfo(found);
    return fd;
}

/* Whether ERROR says that the system has no addresses of a family. */
static bool lacks_family(int error) {
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

/* Opens both loopback addresses, or the one that the system has. A port of 0 becomes that of the
 * first for both. */
static void open_localhost(const char *port, const char *text, const char *flag,
                           int sockets[LISTEN_SOCKETS], struct failure *failure) {
    static const char *const hosts[] = { "127.0.0.1", "::1" };
    char address[80];
    int count = 0;
    for (int i = 0; i < LISTEN_SOCKETS; i++) {
        errno = 0;
        sockets[count] = open_numeric(hosts[i], port, text, flag, false, failure);
        if (sockets[count] < 0 && lacks_family(errno)) continue;
        if (sockets[count] < 0) { /* another program has the port of one: it would get requests */
            if (count) close(sockets[0]);
            sockets[0] = -1;
            return;
        }
        listen_socket_address(sockets[count], address, sizeof address);
        port = strrchr(address, ':') + 1;
        count++;
    }
}

enum status listen_socket_open(const char *text, const char *flag, bool insecure,
                               int sockets[LISTEN_SOCKETS], struct socket_file *file,
                               struct failure *failure) {
    char host[256];
    const char *port = "";
    file->path[0] = '\0';
    sockets[0] = sockets[1] = -1;
    const bool numeric = strncmp(text, "unix:", 5) != 0;
    if (!numeric)
        sockets[0] = open_unix(text + 5, text, flag, file, failure);
    else if (split(text, host, sizeof host, &port) && strcasecmp(host, "localhost") == 0)
        open_localhost(port, text, flag, sockets, failure);
    else
        sockets[0] = open_numeric(host, port, text, flag, insecure, failure);
    return sockets[0] >= 0 ? STATUS_OK : failure->status;
}

/* Drops the first packet (SYN) of every connection: the filter sees the TCP header, whose byte 13
 * holds the flags. Closing the socket instead would reset every client in its backlog, and dropping
 * more packets would reset a client that believes itself connected. */
void listen_socket_ignore_new(int fd) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog filter = { sizeof steps / sizeof *steps, steps };
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* For a listening socket the kernel reports the backlog's length in tcpi_unacked. */
int listen_socket_waiting(int fd) {
    struct pollfd listening = { fd, POLLIN, 0 };
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (poll(&listening, 1, 0) <= 0) return 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return 1;
    return info.tcpi_unacked > 0 ? (int)info.tcpi_unacked : 1;
}

static void address_of(int fd, struct sockaddr_storage *address) {
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
    getsockname(fd, (struct sockaddr *)address, &length);
}

void listen_socket_address(int fd, char *text, size_t size) {
    struct sockaddr_storage address;
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE] = "", port[8] = "";
    address_of(fd, &address);
    const bool six = address.ss_family == AF_INET6;
    *text = '\0';
    if (address.ss_family == AF_UNIX) {
        const char *path = ((struct sockaddr_un *)&address)->sun_path;
        snprintf(text, size, "unix:%s%.*s", *path ? "" : "@", (int)sizeof(struct sockaddr_un) - 3,
                 *path ? path : path + 1);
    } else if (getnameinfo((struct sockaddr *)&address,
                           six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in), host,
                           sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        snprintf(text, size, six ? "[%s]:%s" : "%s:%s", host, port);
    }
}

void listen_sockets_address(const int sockets[LISTEN_SOCKETS], char *text, size_t size) {
    char address[80]; /* an IP address and a port, where there are two sockets */
    if (sockets[1] < 0) {
        listen_socket_address(sockets[0], text, size);
        return;
    }
    listen_socket_address(sockets[0], address, sizeof address);
    snprintf(text, size, "localhost%s", strrchr(address, ':'));
}

static int option_of(int fd, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

enum status listen_socket_check(int fd, const char *name, bool insecure, struct failure *failure) {
    struct sockaddr_storage address;
    char text[160];
    address_of(fd, &address);
    if (option_of(fd, SO_TYPE) != SOCK_STREAM || option_of(fd, SO_ACCEPTCONN) != 1 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6 &&
         address.ss_family != AF_UNIX))
        return fail(
            failure, STATUS_BAD_PARAM,
            "descriptor %d, passed as \"%s\", is not a listening TCP or unix stream socket; "
            "its socket unit needs ListenStream= and Accept=no",
            fd, name);
    listen_socket_address(fd, text, sizeof text);
    if (insecure || address.ss_family == AF_UNIX || is_loopback((struct sockaddr *)&address))
        return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "the socket passed as \"%s\", %.60s, can be reached from other machines, and "
                "requests are not authenticated; use --keys-file (for \"http\" alone), or put a "
                "proxy in front and use --insecure",
                name, text);
}
