// SPDX-License-Identifier: Apache-2.0
#include "server/version.h"

const char *version_text(void) {
    return
#include "version.inc"
        ;
}
