/*
 * Selection of the oracle: pages, protected pages, the select order, and what a quota keeps of it.
 *
 * At page size 1 a page is a token, so nothing below knows tokens from pages.
 */
#include <stdlib.h>

#include "oracle.h"

struct cut cut_of(const struct candidates *c, long page_size)
{
    struct cut cut = {.first = c->first, .tokens = c->count, .page_size = page_size};
    cut.pages = page_of_token(&cut, c->count - 1) + 1;
    return cut;
}

long page_of_token(const struct cut *cut, long token)
{
    return (cut->first + token) / cut->page_size - cut->first / cut->page_size;
}

void page_scores(const struct cut *cut, enum page_reduce how, const float *tokens, float *pages)
{
    double *sums = room(cut->pages, sizeof *sums);
    long *held = room(cut->pages, sizeof *held);
    for (long t = 0; t < cut->tokens; t++) {
        long p = page_of_token(cut, t);
        if (held[p] == 0 || tokens[t] > pages[p])
            pages[p] = tokens[t];
        sums[p] += (double)tokens[t];
        held[p]++;
    }
    for (long p = 0; p < cut->pages && how != PAGE_MAX; p++)
        pages[p] = (float)(how == PAGE_SUM ? sums[p] : sums[p] / (double)held[p]);
    free(sums);
    free(held);
}

static void add_page(long page, long *pages, long *count)
{
    for (long i = 0; i < *count; i++)
        if (pages[i] == page)
            return;
    pages[(*count)++] = page;
}

long protected_pages(const struct row *row, const struct cut *cut, long quota, long *pages)
{
    long count = 0;
    for (long t = 0; t < row->protect_sinks && t < cut->tokens; t++)
        add_page(page_of_token(cut, t), pages, &count);
    if (row->recent_is_fraction) {
        long recent = floor_of(row->recent_fraction, quota, 1);
        for (long i = 0; i < recent && i < cut->pages; i++)
            add_page(cut->pages - 1 - i, pages, &count);
    }
    for (long i = 0; i < row->protect_recent && i < cut->tokens; i++)
        add_page(page_of_token(cut, cut->tokens - 1 - i), pages, &count);
    return count;
}

/* One item of a full sort. */
struct item {
    float score;
    long index;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void select_order(const float *scores, long count, const long *protected, long protected_count,
                  long *order)
{
    bool *taken = room(count, sizeof *taken);
    long placed = 0;
    for (; placed < protected_count; placed++) {
        order[placed] = protected[placed];
        taken[protected[placed]] = true;
    }
    struct item *items = room(count, sizeof *items);
    long left = 0;
    for (long i = 0; i < count; i++)
        if (!taken[i])
            items[left++] = (struct item){scores[i], i};
    qsort(items, (size_t)left, sizeof *items, compare_items);
    for (long i = 0; i < left; i++)
        order[placed + i] = items[i].index;
    free(items);
    free(taken);
}

long union_of(const long *orders, long count, long pages, long quota, bool *kept)
{
    long size = 0;
    for (long p = 0; p < pages; p++)
        kept[p] = false;
    for (long v = 0; v < count; v++)
        for (long i = 0; i < quota && i < pages; i++) {
            bool *flag = &kept[orders[v * pages + i]];
            size += !*flag;
            *flag = true;
        }
    return size;
}
