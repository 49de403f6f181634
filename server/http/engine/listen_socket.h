// SPDX-License-Identifier: Apache-2.0
/* listen_socket.h - a listening socket from text: "127.0.0.1:8080", "[::1]:8080",
 * "unix:/run/burin.sock"; or one that another program has opened and passed on.
 *
 * A unix socket leaves a file. One that nobody listens at, left by a daemon that was killed, is
 * replaced; any other file, and a socket of a running program, is left alone and refused.
 *
 * Used by:  front.c (opens one, checks one that was passed); listener.c and drain.c (the end).
 * Fails:    listen_socket_open returns -1: STATUS_BAD_PARAM where the address can never work,
 *           STATUS_INTERNAL where it is in use or the system refuses.
 * Threads:  the main thread.
 */
#ifndef BURIN_LISTEN_SOCKET_H
#define BURIN_LISTEN_SOCKET_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The file of a unix socket; path "" where there is none. */
struct socket_file {
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    dev_t device; /* with inode: ours, and no other program's in its place */
    ino_t inode;
};

/* The descriptor. FLAG is that of the key that holds ADDRESS, such as "--listen": a failure names
 * it. Anything but loopback and unix sockets needs INSECURE. FILE is for
 * listen_socket_remove_file. */
int listen_socket_open(const char *address, const char *flag, bool insecure,
                       struct socket_file *file, struct failure *failure);

/* Whether FD, passed under NAME by the program that started this one, can be listened on: a stream
 * socket that listens, at an address that listen_socket_open would take as well. */
enum status listen_socket_check(int fd, const char *name, bool insecure, struct failure *failure);

/* Clients that have connected and are not accepted yet; at a unix socket 1 is any number. */
int listen_socket_waiting(int fd);

/* When no more clients shall connect: removes the file if it still is the one that was made. Any
 * number of times. */
void listen_socket_remove_file(struct socket_file *file);

/* New connections are ignored from now on; those in the making reach the backlog, and can still be
 * accepted from there. A client that asks for a new one waits: its system asks again, and finds FD
 * closed or another daemon there. For a unix socket listen_socket_remove_file does as much. */
void listen_socket_ignore_new(int fd);

/* For people, as listen_socket_open takes it: "127.0.0.1:8080"; "" without memory for it. */
void listen_socket_address(int fd, char *text, size_t size);

#endif
