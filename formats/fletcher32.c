/*
 * Fletcher's checksum as HDF5 has it.
 */
#include "formats/fletcher32.h"

uint32_t kvr_fletcher32(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t sum1 = 0, sum2 = 0;
    size_t words = length / 2;
    while (words > 0) {
        /* After 360 words the sums could overflow; folding keeps them modulo 65535. */
        size_t run = words > 360 ? 360 : words;
        words -= run;
        for (; run > 0; run--, at += 2) {
            sum1 += (uint32_t)at[0] << 8 | at[1];
            sum2 += sum1;
        }
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    if (length % 2 != 0) {
        sum1 += (uint32_t)at[0] << 8;
        sum2 += sum1;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}
