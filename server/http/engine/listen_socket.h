// SPDX-License-Identifier: Apache-2.0
/* listen.h - a listening socket from text: "127.0.0.1:8080", "[::1]:8080", "unix:/run/burin.sock".
 *
 * A unix socket leaves a file. One that nobody answers at, left by a daemon that was killed, is
 * replaced; any other file, and a socket of a program that runs, is left alone and refused.
 */
#ifndef BURIN_LISTEN_SOCKET_H
#define BURIN_LISTEN_SOCKET_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The file of a unix socket; path "" where there is none. */
struct socket_file {
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    dev_t device; /* with inode: ours, and no other program's in its place */
    ino_t inode;
};

/* The descriptor, or -1. FLAG is that of the key that holds ADDRESS, "--listen" for one: a failure
 * names it: STATUS_BAD_PARAM where no such address could ever be had, STATUS_INTERNAL where it is
 * taken. Anything but loopback and unix sockets needs INSECURE. FILE is for listen_socket_remove_file. */
int listen_socket_open(const char *address, const char *flag, bool insecure,
                       struct socket_file *file, struct failure *failure);

/* Once nobody is to come any more: takes the file away if it still is the one that was made. Any
 * number of times. */
void listen_socket_remove_file(struct socket_file *file);

/* Nobody begins to connect any more; connections in the making come to the backlog, and from there
 * all can still be taken. Who asks for a new one waits: the system asks again, and finds FD closed
 * or another daemon there. Of a unix socket listen_socket_remove_file does as much. */
void listen_socket_drop_new(int fd);

int listen_socket_port(int fd); /* 0: a unix socket */

#endif
