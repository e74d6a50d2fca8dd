/*
 * The registry of figures. A new one is a file figure_<name>.c, a template <name>.gp and a row here.
 */
#include "plots/figures.h"

#include <string.h>

#include "plots/figure_list.h"

#define REPLAY "kvreplay replay TRACE -o DIR"

const struct kvr_figure kvr_figures[] = {
    {"uor-disagreement", "Union overhead against disagreement", {"bounds.csv"}, REPLAY,
     kvr_figure_uor_disagreement},
    {0},
};

const struct kvr_figure *kvr_find_figure(const char *name)
{
    for (const struct kvr_figure *figure = kvr_figures; figure->name != NULL; figure++)
        if (strcmp(figure->name, name) == 0)
            return figure;
    return NULL;
}
