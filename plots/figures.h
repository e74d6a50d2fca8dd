/*
 * Figures from the tables of a replay: which there are, and how one is drawn.
 *
 * A figure is a row of kvr_figures: the tables that it reads and a function that computes its data.
 * The data meet an editable gnuplot template; what comes out are files in memory, so that a command
 * may save them and a report may embed them. A figure that cannot be drawn says why; that is not
 * an error. Nothing here is thread-safe.
 */
#ifndef KVR_FIGURES_H
#define KVR_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

struct kvr_draft;  /* plots/draft.h */
struct kvr_source; /* plots/source.h */

enum { KVR_FIGURE_MOST_TABLES = 3 };

struct kvr_figure {
    const char *name;  /* "uor-disagreement"; its files are called so */
    const char *title; /* what it shows, one line of plain text */
    const char *tables[KVR_FIGURE_MOST_TABLES + 1]; /* files that it reads; NULL ends */
    const char *made_by; /* the command that writes them, told where one is missing */
    /* Computes the data; sets draft->reason instead where the tables have nothing to show. */
    enum kvr_status (*compute)(const struct kvr_source *source, struct kvr_draft *draft,
                               struct kvr_error *err);
};

/* Every figure, in the order of a report. Ends with a NULL name. */
extern const struct kvr_figure kvr_figures[];

/* The figure called `name`, NULL if there is none. */
const struct kvr_figure *kvr_find_figure(const char *name);

enum kvr_picture_format {
    KVR_PICTURE_SVG,
    KVR_PICTURE_PDF,
    KVR_PICTURE_PNG,  /* 300 dots per inch */
    KVR_PICTURE_TEX,  /* a .tex to \input and the graphics that it includes */
    KVR_PICTURE_TEXT, /* drawn with characters, for a terminal */
    KVR_PICTURE_FORMATS,
};

/* "svg", "pdf", "png", "tex", "text" */
extern const char *const kvr_picture_format_names[KVR_PICTURE_FORMATS];

struct kvr_plot_options {
    const char *folder; /* of the tables; NULL: no figure of kvr_figures will be drawn */
    /* What of the tables is shown, as the tables write it; NULL: chosen from what there is. */
    const char *trace, *scorer, *budget, *page_size;
    bool formats[KVR_PICTURE_FORMATS];
    bool wide;        /* two columns of a paper (6.9 in) instead of one (3.35 in) */
    unsigned columns; /* characters in a line of KVR_PICTURE_TEXT; 0: 79 */
};

struct kvr_plotter;

/*
 * Finds gnuplot and what it can draw, and settles what is shown. KVR_IO with a hint if there is no
 * gnuplot or it can draw none of the formats; KVR_BAD_ARGUMENT if the tables lack what is asked
 * for. Strings of options must outlive the plotter.
 */
enum kvr_status kvr_plotter_open(const struct kvr_plot_options *options, struct kvr_plotter **out,
                                 struct kvr_error *err);

/* Lines about formats that gnuplot lacks and what takes their place; "" if there are none. */
const char *kvr_plotter_notes(const struct kvr_plotter *plotter);

void kvr_plotter_close(struct kvr_plotter *plotter);

struct kvr_drawing_file {
    char *name;  /* "uor-disagreement.svg" */
    char *bytes; /* followed by a NUL that is not counted */
    size_t length;
};

enum { KVR_DRAWING_MOST_FILES = 12 };

struct kvr_drawing {
    const struct kvr_figure *figure;
    char *reason;  /* why it was not drawn, one line; NULL if it was */
    char *caption; /* what is shown, of how many cells, what was left out: plain text, wrapped */
    char *remarks; /* what gnuplot complained about, a line each; "" mostly */
    /* The pictures, and name.dat, name.gp (gnuplot draws it again) and name.txt (the caption). */
    size_t file_count;
    struct kvr_drawing_file files[KVR_DRAWING_MOST_FILES];
};

/* Release *drawing with kvr_drawing_free in any case. */
enum kvr_status kvr_plotter_draw(struct kvr_plotter *plotter, const struct kvr_figure *figure,
                                 struct kvr_drawing *drawing, struct kvr_error *err);

/* The file whose name ends with `suffix` (".svg"), NULL if there is none. */
const struct kvr_drawing_file *kvr_drawing_find(const struct kvr_drawing *drawing,
                                                const char *suffix);

/* Writes every file to `folder`, which exists; each appears whole or not at all. */
enum kvr_status kvr_drawing_save(const struct kvr_drawing *drawing, const char *folder,
                                 struct kvr_error *err);

void kvr_drawing_free(struct kvr_drawing *drawing);

#endif
