/*
 * The list of result tables and their columns.
 */
#include "analysis/result_tables.h"

#include <stddef.h>

const struct kvr_result_table kvr_result_tables[] = {
    {"measures.csv",
     "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,selected,uor,"
     "kept_tokens,retained_mass,future_mass,future_weight,future_peak,peak_weight,output_error",
     kvr_measures_table, NULL},
    {"bounds.csv",
     "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
     "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
     "dawson_sankoff_lower,hunter_upper",
     kvr_bounds_table, NULL},
    {"heads.csv",
     "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,weight_raw,"
     "weight_isolated,max_prob,needle_mass,class",
     kvr_heads_table, NULL},
    {"needles.csv",
     "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,kept_fraction,"
     "pooled_mass,rank,needle_future,needle_future_weight",
     kvr_needles_table, NULL},
    {"premises.csv",
     "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,largest_slack,"
     "pooled_mass,bound,holds",
     kvr_premises_table, NULL},
    {"layers.csv", "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur",
     kvr_layers_table, kvr_layers_table_release},
    {"excluded.csv", "trace,sample,layer,group,scorer,heads", kvr_excluded_table, NULL},
    {NULL, NULL, NULL, NULL},
};
