// SPDX-License-Identifier: Apache-2.0
/* form.h - the forms of text that a key may ask for.
 *
 * Used by:  keys.c, so that every command refuses what `burin serve` could not use.
 * Threads:  any; no state.
 */
#ifndef BURIN_FORM_H
#define BURIN_FORM_H

#include <stdbool.h>

/* IPv4:PORT or [IPv6]:PORT with a port of 0..65535, or unix: and a path that a socket's address has
 * room for. No names of hosts: what they stand for may change. */
bool form_address(const char *text);

/* The same, or nothing. */
bool form_address_or_empty(const char *text);

/* "all", or a list of cpu and cuda:N, each once, with commas between. */
bool form_devices(const char *text);

#endif
