// SPDX-License-Identifier: Apache-2.0
/* formats.h - whether a text has the format that a key asks for.
 *
 * Used by:  keys.c, so that every command refuses what `burin serve` could not use.
 * Threads:  any; no state.
 */
#ifndef BURIN_FORMATS_H
#define BURIN_FORMATS_H

#include <stdbool.h>

/* IPv4:PORT or [IPv6]:PORT with a port of 0..65535, or unix: and a path that a socket's address has
 * room for. No names of hosts: what they stand for may change. */
bool formats_address(const char *text);

/* The same, or nothing. */
bool formats_address_or_empty(const char *text);

/* Any path, relative ones too, or nothing. */
bool formats_path_or_empty(const char *text);

/* "all", or a list of cpu and cuda:N, each once, with commas between. */
bool formats_devices(const char *text);

/* Nothing, "*", or origins as browsers send them, with commas between. */
bool formats_origins(const char *text);

/* Nothing, or types of images with commas between, each once. */
bool formats_types(const char *text);

/* Nothing, or networks in CIDR notation and "unix", with commas between. */
bool formats_networks(const char *text);

#endif
