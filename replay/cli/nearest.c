/*
 * Edit distance with swaps of neighbours (optimal string alignment). It must not know whether the
 * names are commands, options or policies.
 */
#include "replay/cli/nearest.h"

#include <string.h>

enum { LONGEST_NAME = 48 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of insertions, deletions, replacements and swaps that turn a into b. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* Rows i, i-1 and i-2 of the table of prefixes. */
    size_t rows[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(replaced, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], above_that[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void kvr_nearest_offer(struct kvr_nearest *search, const char *name)
{
    size_t typed_length = strlen(search->typed), length = strlen(name);
    if (typed_length > LONGEST_NAME || length > LONGEST_NAME)
        return;
    size_t distance = edit_distance(search->typed, typed_length, name, length);
    /* A third of the name may be wrong, or "help" would be near to "table" and "-q" to "-o". */
    size_t near_enough = least(3, least(typed_length, length) / 3);
    if (distance <= near_enough && (search->name == NULL || distance < search->distance)) {
        search->name = name;
        search->distance = distance;
    }
}
