// SPDX-License-Identifier: Apache-2.0
/* listen.h - a listening socket from text: "127.0.0.1:8080", "[::1]:8080", "unix:/run/burin.sock".
 */
#ifndef BURIN_LISTEN_H
#define BURIN_LISTEN_H

#include "pipeline/status.h"

#include <stdbool.h>

/* The descriptor, or -1. Anything but loopback and unix sockets needs INSECURE. */
int listen_open(const char *address, bool insecure, struct failure *failure);

int listen_port(int fd); /* 0: a unix socket */

#endif
