/*
 * What the run.json of replay folders says and no table holds: samples, and the options in force.
 *
 * Folders whose tables are to stand side by side must have been made with the same options from the
 * same files; that is checked here, once, for whoever reads several folders.
 */
#ifndef KVR_RUN_FACTS_H
#define KVR_RUN_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/names.h"
#include "formats/base/status.h"

struct kvr_sample_facts {
    uint64_t prompt_length;
    uint64_t head_dim; /* 0: not recorded */
};

/* Zero-initialised is empty. */
struct kvr_run_facts {
    struct kvr_names samples;       /* pairs of trace and sample */
    struct kvr_sample_facts *facts; /* [samples.count] */
    size_t capacity;
    struct kvr_names inputs; /* private: trace names and checksums */
    struct kvr_names traces;
    char *first;    /* private: the first folder's run.json */
    char **options; /* private: the options that must agree, as written there */
};

/*
 * Adds folder/run.json. KVR_BAD_INPUT with the place if it is no run record, if an option that
 * changes what policies keep differs from that of the first folder, or if a trace of the same name
 * is another file. The facts are released with kvr_run_facts_free in any case.
 */
enum kvr_status kvr_run_facts_add(struct kvr_run_facts *facts, const char *folder,
                                  struct kvr_error *err);

/* The facts of a sample, NULL if no run record has it. */
const struct kvr_sample_facts *kvr_run_facts_sample(struct kvr_run_facts *facts, const char *trace,
                                                    const char *sample, struct kvr_error *err);

void kvr_run_facts_free(struct kvr_run_facts *facts);

#endif
