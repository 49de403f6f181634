// SPDX-License-Identifier: Apache-2.0
/* edge.h - a row of the table of Sobel edges by size.
 *
 * Used by:  edge.c; tests/bench/edge_ways.c, which puts further ways into the same table.
 */
#ifndef BURIN_BENCH_EDGE_H
#define BURIN_BENCH_EDGE_H

#include "tests/bench/burin-bench/measurement.h"
#include "tests/bench/burin-bench/report.h"

struct edge_size {
    const char *name; /* NULL ends edge_sizes */
    uint32_t width, height;
};

extern const struct edge_size edge_sizes[];

void edge_print_head(void);

/* WAY: how the edges are made, "cpu, 1 core" or "cuda:0 shared memory". BASE: the times that ratios
 * are of; NULL: the row's own. */
void edge_add(struct report *report, const struct edge_size *size, const char *way,
              const struct measurement *times, const struct measurement *base);

#endif
