/*
 * Checking UTF-8. It must not know what the text is for.
 */
#include "formats/base/utf8.h"

size_t kvr_utf8_length(const char *string, size_t *skip)
{
    const unsigned char *text = (const unsigned char *)string;
    unsigned char lead = text[0], least = 0x80, most = 0xbf;
    size_t length;
    *skip = 1;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        length = 2;
    else if (lead >= 0xe0 && lead <= 0xef)
        length = 3;
    else if (lead >= 0xf0 && lead <= 0xf4)
        length = 4;
    else
        return 0;
    if (lead == 0xe0)
        least = 0xa0; /* overlong */
    else if (lead == 0xed)
        most = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        least = 0x90; /* overlong */
    else if (lead == 0xf4)
        most = 0x8f; /* beyond U+10FFFF */
    for (size_t i = 1; i < length; i++) {
        if (text[i] < least || text[i] > most) {
            *skip = i;
            return 0;
        }
        least = 0x80;
        most = 0xbf;
    }
    return length;
}
