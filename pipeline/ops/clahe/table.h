// SPDX-License-Identifier: Apache-2.0
/* table.h - what clahe's tiles make of their samples.
 *
 * Used by:  ops/clahe.c.
 * Threads:  any; a tile belongs to one.
 */
#ifndef BURIN_CLAHE_TABLE_H
#define BURIN_CLAHE_TABLE_H

#include "pipeline/image.h"
#include "pipeline/ops/clahe.h"

/* Bytes of one table: a sample of new level for each level. */
size_t clahe_table_bytes(unsigned depth);

/* Bytes that one thread needs beside it. */
size_t clahe_work_bytes(unsigned depth);

/* TABLE of tile X, Y of GRAY, which has one channel. WORK is aligned to 64 bytes. */
void clahe_table_make(const struct clahe_grid *grid, const struct image *gray, uint32_t x,
                      uint32_t y, void *work, void *table);

#endif
