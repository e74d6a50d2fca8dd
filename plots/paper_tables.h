/*
 * The tables of a paper from the sums of a replay: union overhead, certificates, masquerade,
 * policies, needles, pages, bounds.
 *
 * Means are over groups (or as MEASURES §9 pools them), intervals over prompts. It must not know
 * the forms that a table is written in.
 */
#ifndef KVR_PAPER_TABLES_H
#define KVR_PAPER_TABLES_H

#include "analysis/bounds_report.h"
#include "plots/paper_table.h"
#include "plots/replay_sums.h"

/* What the tables are made from. */
struct kvr_paper_source {
    struct kvr_replay_sums sums;
    struct kvr_bounds_report bounds;
    struct kvr_bootstrap bootstrap;
};

/* Reads the tables of a replay's folder; release with kvr_paper_source_free in any case. */
enum kvr_status kvr_paper_source_read(const char *folder, const struct kvr_bootstrap *bootstrap,
                                      struct kvr_paper_source *source, struct kvr_error *err);
void kvr_paper_source_free(struct kvr_paper_source *source);

/* Which lines are wanted: lists of names as the replay's tables have them; count 0 takes all. A
   line that is not about such a thing is taken. */
struct kvr_paper_filter {
    struct {
        char **items;
        size_t count;
    } scorers, policies, budgets, page_sizes;
};

/* A kind of table. */
struct kvr_paper_kind {
    const char *name, *title, *caption;
    const struct kvr_column *columns;
    size_t column_count;
    enum kvr_status (*fill)(const struct kvr_paper_source *source,
                            const struct kvr_paper_filter *filter, struct kvr_paper_table *table,
                            struct kvr_error *err);
};

enum { KVR_PAPER_KINDS = 7 };
extern const struct kvr_paper_kind *const kvr_paper_kinds[KVR_PAPER_KINDS];

/* Columns are the kind's. The table borrows names from the source; release it in any case. */
enum kvr_status kvr_paper_table_build(const struct kvr_paper_kind *kind,
                                      const struct kvr_paper_source *source,
                                      const struct kvr_paper_filter *filter,
                                      struct kvr_paper_table *table, struct kvr_error *err);

/* True if the filter takes lines of this setting. */
bool kvr_paper_filter_takes(const struct kvr_paper_filter *filter,
                            const struct kvr_replay_sums *sums, const struct kvr_setting *setting);

/* Puts an estimate into cells[column] and tells in a footnote what its interval is, or why there is
   none; a column without intervals needs neither. */
enum kvr_status kvr_paper_estimate(const struct kvr_paper_source *source,
                                   const struct kvr_sums *sums, const struct kvr_series *series,
                                   const struct kvr_formula *formula, struct kvr_paper_table *table,
                                   struct kvr_table_cell *cells, size_t column,
                                   struct kvr_error *err);

extern const struct kvr_paper_kind kvr_paper_union, kvr_paper_certificates, kvr_paper_masquerade;
extern const struct kvr_paper_kind kvr_paper_policies, kvr_paper_needles, kvr_paper_pages;
extern const struct kvr_paper_kind kvr_paper_bounds;

#endif
