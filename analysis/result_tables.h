/*
 * The tables of a replay (INTERFACES, "Tables"): one observer each, one file each.
 */
#ifndef KVR_RESULT_TABLES_H
#define KVR_RESULT_TABLES_H

#include "formats/base/outfile.h"
#include "replay/observer.h"

/* A table: its file, its header line, and the observer that fills it. */
struct kvr_result_table {
    const char *name;   /* "measures.csv" */
    const char *header; /* comma-separated columns */
    enum kvr_status (*observer)(struct kvr_outfile *file, struct kvr_observer *out,
                                struct kvr_error *err);
    void (*release)(struct kvr_observer *observer); /* NULL: nothing to release */
};

/* Every table of a replay; ends with a NULL name. */
extern const struct kvr_result_table kvr_result_tables[];

enum kvr_status kvr_measures_table(struct kvr_outfile *file, struct kvr_observer *out,
                                   struct kvr_error *err);
enum kvr_status kvr_bounds_table(struct kvr_outfile *file, struct kvr_observer *out,
                                 struct kvr_error *err);
enum kvr_status kvr_heads_table(struct kvr_outfile *file, struct kvr_observer *out,
                                struct kvr_error *err);
enum kvr_status kvr_needles_table(struct kvr_outfile *file, struct kvr_observer *out,
                                  struct kvr_error *err);
enum kvr_status kvr_premises_table(struct kvr_outfile *file, struct kvr_observer *out,
                                   struct kvr_error *err);
enum kvr_status kvr_layers_table(struct kvr_outfile *file, struct kvr_observer *out,
                                 struct kvr_error *err);
void kvr_layers_table_release(struct kvr_observer *observer);
enum kvr_status kvr_excluded_table(struct kvr_outfile *file, struct kvr_observer *out,
                                   struct kvr_error *err);

#endif
