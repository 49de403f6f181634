// SPDX-License-Identifier: Apache-2.0
/* listen_socket.h - a listening socket from text: "127.0.0.1:8080", "[::1]:8080",
 * "unix:/run/burin.sock"; or one that another program has opened and passed on. "localhost:8080" is
 * two, of IPv4 and IPv6, where the system has both.
 *
 * A unix socket leaves a file. The file of a killed daemon, at which no process listens, is
 * replaced. Any other file, and the socket of a running program, is refused and left alone.
 *
 * Used by:  front.c opens one, or checks one that was passed; listener.c and drain.c end it.
 * Owns:     nothing; the caller closes the descriptor and removes the file.
 * Fails:    listen_socket_open: STATUS_BAD_PARAM if the address can never work,
 *           STATUS_INTERNAL if it is in use or the system refuses.
 * Threads:  the main thread.
 */
#ifndef BURIN_LISTEN_SOCKET_H
#define BURIN_LISTEN_SOCKET_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The file of a unix socket; path "": none. */
struct socket_file {
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    dev_t device; /* device and inode: to recognise our own file */
    ino_t inode;
};

/* Descriptors of one listener; -1: none, in the second place or both. */
enum { LISTEN_SOCKETS = 2 };

/* Opens SOCKETS. FLAG is the option that ADDRESS comes from, such as "--listen", for the message of
 * a failure. Without INSECURE only loopback and unix sockets are allowed. FILE is for
 * listen_socket_remove_file. */
enum status listen_socket_open(const char *address, const char *flag, bool insecure,
                               int sockets[LISTEN_SOCKETS], struct socket_file *file,
                               struct failure *failure);

/* Checks FD, which the program that started this one passed as NAME: it must be a listening stream
 * socket, at an address that listen_socket_open would accept. */
enum status listen_socket_check(int fd, const char *name, bool insecure, struct failure *failure);

/* The number of connections in the backlog; for a unix socket 1 means any number. */
int listen_socket_waiting(int fd);

/* Ends connecting to a unix socket: removes the file if it is still ours. Any number of times. */
void listen_socket_remove_file(struct socket_file *file);

/* From now on new connections are ignored; those in the making still reach the backlog. A client
 * that connects waits: its system retries, and finds FD closed or another daemon. On a unix socket
 * listen_socket_remove_file has this effect. */
void listen_socket_ignore_new(int fd);

/* For people, in the form of listen_socket_open: "127.0.0.1:8080"; "" if it is not known. */
void listen_socket_address(int fd, char *text, size_t size);

/* The same for both: "localhost:8080" for two. */
void listen_sockets_address(const int sockets[LISTEN_SOCKETS], char *text, size_t size);

#endif
