// SPDX-License-Identifier: Apache-2.0
/* version.h - which build this is: `git describe` at build time.
 *
 * Used by:  command_version.c, api/openapi_json.c, and http/ for GET / and /metrics.
 */
#ifndef BURIN_VERSION_H
#define BURIN_VERSION_H

const char *version_text(void);

#endif
