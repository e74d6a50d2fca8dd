/*
 * Strides, and elements by strides. It must not know where arrays come from or what they mean.
 */
#include "formats/array.h"

#include <string.h>

#include "formats/base/memory.h"

enum kvr_status kvr_array_lay_out(struct kvr_array *array, bool fortran_order, uint64_t *size,
                                  struct kvr_error *err)
{
    size_t bytes = array->element_size;
    bool empty = false, fits = true;
    for (unsigned i = 0; i < array->rank; i++) {
        unsigned axis = fortran_order ? i : array->rank - 1 - i;
        array->stride[axis] = bytes;
        if (array->shape[axis] == 0)
            empty = true;
        else if (array->shape[axis] > SIZE_MAX)
            fits = false;
        else
            fits = fits && kvr_size_product(bytes, (size_t)array->shape[axis], &bytes);
    }
    if (!fits || bytes > INT64_MAX)
        return kvr_fail(err, KVR_BAD_INPUT, "its shape has more elements than any file can hold");
    *size = empty ? 0 : bytes;
    return KVR_OK;
}

uint64_t kvr_array_extent(const struct kvr_array_view *view, unsigned axis)
{
    unsigned own = view->axis[axis];
    return own < KVR_ARRAY_RANK ? view->array->shape[own] : 1;
}

static uint64_t stride_of(const struct kvr_array_view *view, unsigned axis)
{
    unsigned own = view->axis[axis];
    return own < KVR_ARRAY_RANK ? view->array->stride[own] : 0;
}

uint64_t kvr_array_offset(const struct kvr_array_view *view, uint64_t i, uint64_t j)
{
    return view->offset + i * stride_of(view, 0) + j * stride_of(view, 1);
}

void kvr_array_read(const struct kvr_array_view *view, const uint64_t start[KVR_BLOCK_RANK],
                    const uint64_t count[KVR_BLOCK_RANK], double *values)
{
    const struct kvr_array *array = view->array;
    const uint64_t step = stride_of(view, 2);
    for (uint64_t i = start[0]; i < start[0] + count[0]; i++)
        for (uint64_t j = start[1]; j < start[1] + count[1]; j++) {
            const unsigned char *row =
                array->bytes + kvr_array_offset(view, i, j) + start[2] * step;
            if (step == array->element_size) {
                kvr_element_decode(array->type, row, (size_t)count[2], values);
                values += count[2];
                continue;
            }
            for (uint64_t k = 0; k < count[2]; k++)
                kvr_element_decode(array->type, row + k * step, 1, values++);
        }
}

bool kvr_array_integer(const struct kvr_array *array, uint64_t offset, int64_t *value)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < array->element_size; i++) {
        size_t at = array->big_endian ? i : array->element_size - 1 - i;
        bits = bits << 8 | array->bytes[offset + at];
    }
    unsigned width = (unsigned)(8 * array->element_size);
    if (array->is_signed && width < 64 && bits >> (width - 1) != 0)
        bits |= ~UINT64_C(0) << width;
    if (!array->is_signed && bits > INT64_MAX)
        return false;
    memcpy(value, &bits, sizeof *value);
    return true;
}
