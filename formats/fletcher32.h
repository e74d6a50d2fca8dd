/*
 * The checksum of HDF5's fletcher32 filter.
 */
#ifndef KVR_FLETCHER32_H
#define KVR_FLETCHER32_H

#include <stddef.h>
#include <stdint.h>

/* Fletcher's checksum over 16-bit words, most significant byte first; an odd byte counts as the
   upper half of a word. */
uint32_t kvr_fletcher32(const void *bytes, size_t length);

#endif
