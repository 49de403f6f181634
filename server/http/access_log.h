// SPDX-License-Identifier: Apache-2.0
/* access_log.h - the line of the log about one request: who asked for what, and what came of it.
 *
 * A slow or refused request can be sent again from its line, but for the picture. Values that may
 * be secrets are left out.
 *
 * Used by:  request_flow.c.
 * Owns:     nothing.
 * Fails:    never; texts of clients are cut to SHOWN_PATH and the like (access_log.c).
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_ACCESS_LOG_H
#define BURIN_ACCESS_LOG_H

#include "server/http/exchange.h"

/* Keeps the facts about the images in EXCHANGE's slot, if it has one, which is about to go. */
void access_log_note(struct exchange *exchange);

/* Logs image requests and all errors, but no successful probes. The request took TOTAL_MS. */
void access_log_write(const struct exchange *exchange, double total_ms);

#endif
