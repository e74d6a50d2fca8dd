/*
 * The element types of a trace, and their conversion to double.
 *
 * HDF5 is never asked to convert floating-point numbers: it is slow and rounds half wrongly. The
 * stored bits are read as they are and converted here; every type below fits a double exactly.
 */
#ifndef KVR_ELEMENT_H
#define KVR_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kvr_element {
    KVR_HALF,     /* IEEE 754 binary16 */
    KVR_BFLOAT16, /* the upper half of binary32; custom HDF5 float or uint16 with an attribute */
    KVR_FLOAT,    /* IEEE 754 binary32 */
    KVR_DOUBLE,   /* IEEE 754 binary64 */
};

struct kvr_element_type {
    enum kvr_element kind;
    bool big_endian;
    bool as_uint16; /* bfloat16 stored as uint16 with encoding = "bfloat16" */
};

/* 2, 2, 4 or 8. */
size_t kvr_element_size(enum kvr_element kind);

/* "half", "bfloat16", "float" or "double". */
const char *kvr_element_name(enum kvr_element kind);

/* One value of each 16-bit type from its bits, and the bits nearest to a value (ties to even;
   beyond the range infinity; NaN stays NaN). */
float kvr_half_to_float(uint16_t bits);
float kvr_bfloat16_to_float(uint16_t bits);
uint16_t kvr_half_from_double(double value);
uint16_t kvr_bfloat16_from_double(double value);

/* count stored elements at `stored` (any alignment) to doubles; exact, NaN and infinities pass. */
void kvr_element_decode(struct kvr_element_type type, const void *stored, size_t count,
                        double *values);

/*
 * Adds rows of stored elements, column by column in the order of the rows: sums[t] += element t of
 * each of rows[0 … row_count-1], which have `count` elements. Exact conversion, sums in double.
 * kvr_element_add_squares also adds the squares to squares[t].
 */
void kvr_element_add_rows(struct kvr_element_type type, const void *const *rows, size_t row_count,
                          size_t count, double *sums);
void kvr_element_add_squares(struct kvr_element_type type, const void *const *rows,
                             size_t row_count, size_t count, double *sums, double *squares);

/*
 * means[t] = sum of element t of each of rows[0 … row_count-1] / row_count: summed in double in
 * that order, divided, rounded once. Rows have `count` elements; row_count > 0.
 */
void kvr_element_mean_rows(struct kvr_element_type type, const void *const *rows, size_t row_count,
                           size_t count, float *means);

/* The same of two-byte elements whose second bytes lie `planes` bytes after their first ones, which
   follow each other; 0: not so. */
void kvr_element_mean_planes(struct kvr_element_type type, const void *const *rows, size_t planes,
                             size_t row_count, size_t count, float *means);

/* count doubles to stored elements, rounded to nearest even. */
void kvr_element_encode(struct kvr_element_type type, const double *values, size_t count,
                        void *stored);

#endif
