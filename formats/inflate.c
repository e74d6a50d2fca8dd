/*
 * The one file that knows the inflating libraries. It must not know what is inside.
 */
#include "formats/inflate.h"

#if KVR_HAVE_LIBDEFLATE

#include <libdeflate.h>

bool kvr_inflate(const void *stored, size_t stored_size, void *out, size_t size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (decompressor == NULL)
        return false;
    /* Without a place for the length, any other length than `size` is an error. */
    enum libdeflate_result result =
        libdeflate_zlib_decompress(decompressor, stored, stored_size, out, size, NULL);
    libdeflate_free_decompressor(decompressor);
    return result == LIBDEFLATE_SUCCESS;
}

#else

#include <limits.h>
#include <zlib.h>

bool kvr_inflate(const void *stored, size_t stored_size, void *out, size_t size)
{
    if (stored_size > UINT_MAX || size > UINT_MAX)
        return false;
    z_stream stream = {
        .next_in = (z_const Bytef *)stored,
        .avail_in = (uInt)stored_size,
        .next_out = out,
        .avail_out = (uInt)size,
    };
    if (inflateInit(&stream) != Z_OK)
        return false;
    int result = inflate(&stream, Z_FINISH);
    bool whole = result == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return whole;
}

#endif
