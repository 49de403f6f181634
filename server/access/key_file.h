// SPDX-License-Identifier: Apache-2.0
/* key_file.h - reads the file of the key `keys_file`: keys and presets in JSON.
 *
 *     {"keys": [{"id": "shop-web", "secret": "43 characters", "token_sha256": "64 digits",
 *                "group": "shop", "state": "active", "not_after": "2027-03-01T00:00:00Z",
 *                "may": ["resize", "info", "preset:thumb"], "share": 2,
 *                "limits": {"requests_per_s": 50, "burst": 100, "pixels_per_s": "500M",
 *                           "bytes_per_s": "20MiB", "device_ms_per_s": 200, "in_progress": 16,
 *                           "body_bytes_max": "8MiB", "pixels_max": "24M"}}],
 *      "presets": {"thumb": "resize?width=320&height=320&position=smart&type=auto"}}
 *
 * Used by:  command_serve.c, http/reload.c; command_keys.c, command_sign.c.
 * Owns:     nothing; the caller gets the only hold of the table.
 * Fails:    NULL, STATUS_BAD_PARAM, with the line and the member; no message has a secret.
 * Threads:  any; no state.
 * Limits:   KEYS_MAX, PRESETS_MAX, 1 MiB.
 */
#ifndef BURIN_KEY_FILE_H
#define BURIN_KEY_FILE_H

#include "server/access/key_table.h"

struct op_set;
struct overlays;

/* OPS, OVERLAYS: what presets and `may` may name; OVERLAYS NULL: any. Others than its owner may not
 * have access to the file; the group of root's may read it, as Kubernetes mounts secrets. */
struct key_table *key_file_read(const char *path, const struct op_set *ops,
                                const struct overlays *overlays, struct failure *failure);

/* Whether TEXT can be the id of a key, its group, or the name of a preset. */
bool key_file_is_name(const char *text);

#endif
