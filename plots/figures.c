/*
 * The registry of figures. A new one is a file figure_<name>.c, a template <name>.gp and a row
 * here.
 */
#include "plots/figures.h"

#include <string.h>

#include "plots/figure_list.h"

#define REPLAY "kvreplay replay TRACE -o DIR"
#define CURVES "kvreplay replay TRACE --curve log -o DIR"
#define ABLATE "kvreplay ablate TRACE -o DIR"

const struct kvr_figure kvr_figures[] = {
    {"policies",
     "Policies by what later tokens still find",
     {"measures.csv"},
     REPLAY,
     kvr_figure_policies},
    {"retained-memory",
     "Retained mass at equal memory",
     {"measures.csv"},
     REPLAY,
     kvr_figure_retained_memory},
    {"needle-retention",
     "Needle tokens kept",
     {"needles.csv", "measures.csv"},
     REPLAY,
     kvr_figure_needle_retention},
    {"uor-disagreement",
     "Union overhead against disagreement",
     {"bounds.csv"},
     REPLAY,
     kvr_figure_uor_disagreement},
    {"uor-curves",
     "Union overhead over every budget",
     {"curves.csv"},
     CURVES,
     kvr_figure_uor_curves},
    {"bound-tightness",
     "Tightness of the bounds",
     {"bounds.csv"},
     REPLAY,
     kvr_figure_bound_tightness},
    {"layer-group",
     "Where heads disagree",
     {"bounds.csv", "measures.csv"},
     REPLAY,
     kvr_figure_layer_group},
    {"entropy-densities",
     "Entropy of heads, by class",
     {"heads.csv", "measures.csv"},
     REPLAY,
     kvr_figure_entropy_densities},
    {"weights", "Entropy weights, raw and isolated", {"heads.csv"}, REPLAY, kvr_figure_weights},
    {"finite-context",
     "Finite-context bound, two regimes",
     {"premises.csv"},
     REPLAY,
     kvr_figure_finite_context},
    {"page-union",
     "Pages that a layer holds",
     {"layers.csv", "measures.csv"},
     REPLAY,
     kvr_figure_page_union},
    {"slot-share", "Mass inside kept pages", {"ablation_slots.csv"}, ABLATE, kvr_figure_slot_share},
    {"temperature",
     "Temperature and order of the entropy",
     {"ablation_temperature.csv", "ablation_order.csv"},
     ABLATE,
     kvr_figure_temperature},
    {0},
};

const struct kvr_figure *kvr_find_figure(const char *name)
{
    for (const struct kvr_figure *figure = kvr_figures; figure->name != NULL; figure++)
        if (strcmp(figure->name, name) == 0)
            return figure;
    return NULL;
}
