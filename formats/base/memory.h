/*
 * Checked memory: sizes that cannot overflow, allocations that fill the error record.
 *
 * Everything allocated here is released with free(). Shapes come from files that are not to be
 * trusted, so a product of dimensions is always formed with kvr_size_product.
 */
#ifndef KVR_MEMORY_H
#define KVR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

/* *product = a * b; false if it does not fit. */
bool kvr_size_product(size_t a, size_t b, size_t *product);

/* Zeroed room for count elements; at least one byte, so NULL always means failure. */
void *kvr_alloc(size_t count, size_t size, struct kvr_error *err);

/* Room for `size` bytes with any contents, for what is written whole before it is read. */
void *kvr_alloc_bytes(size_t size, struct kvr_error *err);

/* As kvr_alloc, aligned to 64 bytes, for vectors that SIMD code reads. */
void *kvr_alloc_vector(size_t count, size_t size, struct kvr_error *err);

/* A copy of a string, or of its first length bytes. */
char *kvr_copy_string(const char *text, struct kvr_error *err);
char *kvr_copy_bytes(const char *text, size_t length, struct kvr_error *err);

/*
 * Makes room in a growing array for `needed` elements: *items (NULL at first) holds *capacity
 * elements of `size` bytes. New elements are not initialised.
 */
enum kvr_status kvr_reserve(void **items, size_t *capacity, size_t needed, size_t size,
                            struct kvr_error *err);

/* Makes room for the element `index`, as kvr_reserve; new elements are zeroed. */
enum kvr_status kvr_reach(void **items, size_t *capacity, size_t index, size_t size,
                          struct kvr_error *err);

#endif
