// SPDX-License-Identifier: Apache-2.0
/* version.h - which build this is: `git describe` at build time. */
#ifndef BURIN_VERSION_H
#define BURIN_VERSION_H

const char *version_text(void);

#endif
