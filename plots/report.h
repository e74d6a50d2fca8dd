/*
 * The report of a replay: one page that needs nothing but itself.
 *
 * No network, no files beside it; works without scripts, better with. Names come from files that
 * are not to be trusted and are escaped; a content security policy forbids whatever slips through.
 */
#ifndef KVR_REPORT_H
#define KVR_REPORT_H

#include "formats/json_reader.h"
#include "plots/paper_tables.h"
#include "plots/report_layers.h"

/* A figure, or why there is none. */
struct kvr_report_figure {
    const char *name;  /* unique; letters, digits and dashes */
    const char *title; /* plain text */
    const char *svg;   /* a document whose labels are escaped; NULL: none */
    const char *caption;
    const char *reason; /* where svg is NULL */
};

/* What the headline and the layers are told for. */
struct kvr_report_choice {
    size_t scorer, budget; /* indices into the names of the sums; KVR_NO_NAME: nothing there */
    uint64_t page_size;
};

struct kvr_report {
    const char *folder; /* of the tables, as the page names it */
    const struct kvr_paper_source *paper;
    const struct kvr_report_layers *layers;
    const struct kvr_json_value *run; /* run.json; NULL: not there */
    const struct kvr_report_figure *figures;
    size_t figure_count;
    const char *figure_note; /* why there are no figures at all; NULL: there are */
};

/* The first scorer and page size, and the budget in the middle. */
struct kvr_report_choice kvr_report_choose(const struct kvr_replay_sums *sums);

/* Adds the whole page. */
enum kvr_status kvr_report_write(const struct kvr_report *report, struct kvr_text *text,
                                 struct kvr_error *err);

/* Parts of the page, in files of their own. */
enum kvr_status kvr_report_add_headline(const struct kvr_report *report, struct kvr_text *text,
                                        struct kvr_error *err);
enum kvr_status kvr_report_add_inputs(const struct kvr_report *report, struct kvr_text *text,
                                      struct kvr_error *err);
void kvr_report_add_provenance(const struct kvr_report *report, struct kvr_text *text);

#endif
