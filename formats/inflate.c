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

bool kvr_inflate_raw(const void *stored, size_t stored_size, void *out, size_t size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (decompressor == NULL)
        return false;
    enum libdeflate_result result =
        libdeflate_deflate_decompress(decompressor, stored, stored_size, out, size, NULL);
    libdeflate_free_decompressor(decompressor);
    return result == LIBDEFLATE_SUCCESS;
}

uint32_t kvr_crc32(uint32_t crc, const void *bytes, size_t size)
{
    return libdeflate_crc32(crc, bytes, size);
}

#else

#include <limits.h>
#include <zlib.h>

/* Window bits as zlib counts them: negative for a raw stream. Pieces, since zlib counts in int. */
static bool inflate_all(int window_bits, const void *stored, size_t stored_size, void *out,
                        size_t size)
{
    z_stream stream = {.next_in = (z_const Bytef *)stored, .next_out = out};
    size_t in_left = stored_size, out_left = size;
    int result = inflateInit2(&stream, window_bits);
    if (result != Z_OK)
        return false;
    while (result == Z_OK) {
        uInt in = in_left < UINT_MAX ? (uInt)in_left : UINT_MAX;
        uInt room = out_left < UINT_MAX ? (uInt)out_left : UINT_MAX;
        stream.avail_in = in;
        stream.avail_out = room;
        result = inflate(&stream, Z_NO_FLUSH);
        if (stream.avail_in == in && stream.avail_out == room && result == Z_OK)
            break;
        in_left -= in - stream.avail_in;
        out_left -= room - stream.avail_out;
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && out_left == 0;
}

bool kvr_inflate(const void *stored, size_t stored_size, void *out, size_t size)
{
    return inflate_all(MAX_WBITS, stored, stored_size, out, size);
}

bool kvr_inflate_raw(const void *stored, size_t stored_size, void *out, size_t size)
{
    return inflate_all(-MAX_WBITS, stored, stored_size, out, size);
}

uint32_t kvr_crc32(uint32_t crc, const void *bytes, size_t size)
{
    const Bytef *at = bytes;
    for (size_t left = size; left > 0;) {
        uInt piece = left < UINT_MAX ? (uInt)left : UINT_MAX;
        crc = (uint32_t)crc32(crc, at, piece);
        at += piece;
        left -= piece;
    }
    return crc;
}

#endif
