/*
 * Checked allocation. What it must not know: who owns the memory, or what it is for.
 */
#include "formats/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR_ALIGNMENT = 64 };

bool kvr_size_product(size_t a, size_t b, size_t *product)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *product = a * b;
    return true;
}

static void *out_of_memory(struct kvr_error *err, size_t count, size_t size)
{
    kvr_fail(err, KVR_NO_MEMORY, "out of memory: %zu elements of %zu bytes", count, size);
    return NULL;
}

void *kvr_alloc(size_t count, size_t size, struct kvr_error *err)
{
    size_t bytes;
    if (!kvr_size_product(count, size, &bytes))
        return out_of_memory(err, count, size);
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        return out_of_memory(err, count, size);
    return memory;
}

void *kvr_alloc_bytes(size_t size, struct kvr_error *err)
{
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        return out_of_memory(err, size, 1);
    return memory;
}

void *kvr_alloc_vector(size_t count, size_t size, struct kvr_error *err)
{
    size_t bytes;
    if (!kvr_size_product(count, size, &bytes) || bytes > SIZE_MAX - 2 * VECTOR_ALIGNMENT)
        return out_of_memory(err, count, size);
    bytes = (bytes / VECTOR_ALIGNMENT + 1) * VECTOR_ALIGNMENT;
    void *memory = aligned_alloc(VECTOR_ALIGNMENT, bytes);
    if (memory == NULL)
        return out_of_memory(err, count, size);
    memset(memory, 0, bytes);
    return memory;
}

char *kvr_copy_bytes(const char *text, size_t length, struct kvr_error *err)
{
    char *copy = kvr_alloc(length + 1, 1, err);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *kvr_copy_string(const char *text, struct kvr_error *err)
{
    return kvr_copy_bytes(text, strlen(text), err);
}

enum kvr_status kvr_reserve(void **items, size_t *capacity, size_t needed, size_t size,
                            struct kvr_error *err)
{
    if (needed <= *capacity)
        return KVR_OK;
    size_t target = *capacity < 8 ? 8 : *capacity;
    while (target < needed)
        target = target > SIZE_MAX / 2 ? needed : target * 2;
    size_t bytes;
    void *grown = NULL;
    if (kvr_size_product(target, size, &bytes) && bytes > 0)
        grown = realloc(*items, bytes);
    if (grown == NULL) {
        out_of_memory(err, target, size);
        return KVR_NO_MEMORY;
    }
    *items = grown;
    *capacity = target;
    return KVR_OK;
}

enum kvr_status kvr_reach(void **items, size_t *capacity, size_t index, size_t size,
                          struct kvr_error *err)
{
    size_t before = *capacity;
    if (index < before)
        return KVR_OK;
    enum kvr_status status = kvr_reserve(items, capacity, index + 1, size, err);
    if (status == KVR_OK)
        memset((char *)*items + before * size, 0, (*capacity - before) * size);
    return status;
}
