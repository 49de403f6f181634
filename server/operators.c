// SPDX-License-Identifier: Apache-2.0
#include "server/operators.h"

#include "cuda/skeletons/kernel_library.h"
#include "pipeline/skeletons/twin_cache.h"

#include <stdio.h>

static void report(void *context, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s\n", sentence);
}

struct operators_options operators_options_default(void) {
    return (struct operators_options){ .cache = twin_cache_default(), .report = report };
}

enum status operators_load(const char *path, struct failure *failure) {
    const struct operators_options options = operators_options_default();
    kernel_library_keep_in(options.cache);
    if (!path || operators_dir_load(path, &options, failure) >= 0) return STATUS_OK;
    return failure ? failure->status : STATUS_BAD_PARAM;
}
