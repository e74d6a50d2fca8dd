/*
 * The list of bounds. It knows names and thresholds, not how a bound is computed.
 */
#include "analysis/bound_kinds.h"

const struct kvr_bound_kind kvr_bound_kinds[KVR_BOUNDS] = {
    [KVR_BONFERRONI_LOWER] = {"bonferroni_lower", "Bonferroni", "cor. 1", true},
    [KVR_SANDWICH_LOWER] = {"sandwich_lower", "sandwich", "thm. 1", true},
    [KVR_CAUCHY_LOWER] = {"cauchy_lower", "Cauchy", "thm. 1, step 3", true},
    [KVR_DECAEN_LOWER] = {"decaen_lower", "de Caen", "1997", true},
    [KVR_DAWSON_SANKOFF_LOWER] = {"dawson_sankoff_lower", "Dawson-Sankoff", "1967", true},
    [KVR_SANDWICH_UPPER] = {"sandwich_upper", "sandwich", "thm. 1", false},
    [KVR_HUNTER_UPPER] = {"hunter_upper", "Hunter", "1976", false},
};

bool kvr_bound_certifies(double lower)
{
    return lower >= 2 - 1e-9;
}

double kvr_certificate_bonferroni(double r)
{
    return (r - 2) / (r * (r - 1));
}

double kvr_certificate_sandwich(double r)
{
    return (r - 2) / (3 * r - 2);
}
