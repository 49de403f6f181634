// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/webp/memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

/* Declarations of libwebp's src/utils/utils.h, which it does not install. */
void *WebPSafeMalloc(uint64_t count, size_t size);
void *WebPSafeCalloc(uint64_t count, size_t size);
void WebPSafeFree(void *block);

static _Thread_local struct webp_memory *budget;

void webp_memory_begin(struct webp_memory *memory) {
    memory->refused = memory->failed = false;
    memory->stopped = STATUS_OK;
    budget = memory;
}

void webp_memory_end(void) {
    budget = NULL;
}

static bool affordable(uint64_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX) return false;
    if (!budget) return true;
    if (!budget->stopped) budget->stopped = progress_check(budget->progress);
    budget->refused |= bytes > budget->left;
    return !budget->refused && !budget->stopped;
}

/* Counts the bytes of BLOCK, which may be more than were asked for. */
static void *counted(void *block) {
    if (!budget) return block;
    budget->failed |= !block;
    if (!block) return NULL;
    const size_t bytes = malloc_usable_size(block);
    budget->left -= bytes < budget->left ? bytes : budget->left;
    return block;
}

void *WebPSafeMalloc(uint64_t count, size_t size) {
    return affordable(count, size) ? counted(malloc((size_t)count * size)) : NULL;
}

void *WebPSafeCalloc(uint64_t count, size_t size) {
    return affordable(count, size) ? counted(calloc((size_t)count, size)) : NULL;
}

void WebPSafeFree(void *block) {
    if (budget && block) budget->left += malloc_usable_size(block);
    free(block);
}
