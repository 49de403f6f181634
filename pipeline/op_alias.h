// SPDX-License-Identifier: Apache-2.0
/* op_alias.h - names that other image tools give to what an operator does, or to what none does.
 *
 * Used by:  code that reports an unknown operator: plan.c, http/route.c, cli/command_ops.c; code
 *           that lists operators, for searches: api/ops_json.c, cli/command_ops.c.
 * Threads:  any; constants.
 */
#ifndef BURIN_OP_ALIAS_H
#define BURIN_OP_ALIAS_H

/* The end of a sentence: what to use in place of NAME, or that nothing here does that; NULL: NAME
 * is no alias. Case, '-' and '_' do not count. */
const char *op_alias(const char *name);

/* Words of other tools that lead to the operator NAME, each followed by a blank; several texts, so
 * PLACE counts from 0. NULL: there is no such text. */
const char *op_alias_words(const char *name, int place);

#endif
