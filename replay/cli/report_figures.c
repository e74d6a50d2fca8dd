/*
 * Drawing the figures of a report. It must not know which figures there are.
 */
#include "replay/cli/report_figures.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"

static enum kvr_status draw_all(struct kvr_plotter *plotter, struct kvr_report_figures *figures,
                                struct kvr_error *err)
{
    size_t all = 0;
    while (kvr_figures[all].name != NULL)
        all++;
    figures->figures = kvr_alloc(all, sizeof *figures->figures, err);
    figures->drawings = kvr_alloc(all, sizeof *figures->drawings, err);
    if (figures->figures == NULL || figures->drawings == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < all; i++) {
        struct kvr_drawing *drawing = &figures->drawings[i];
        figures->count = i + 1;
        enum kvr_status status = kvr_plotter_draw(plotter, &kvr_figures[i], drawing, err);
        if (status != KVR_OK)
            return status;
        const struct kvr_drawing_file *svg = kvr_drawing_find(drawing, ".svg");
        figures->figures[i] = (struct kvr_report_figure){
            .name = kvr_figures[i].name,
            .title = kvr_figures[i].title,
            .svg = drawing->reason == NULL && svg != NULL ? svg->bytes : NULL,
            .caption = drawing->caption,
            .reason = drawing->reason,
        };
    }
    return KVR_OK;
}

enum kvr_status kvr_report_figures_draw(const char *folder, struct kvr_report_figures *figures,
                                        struct kvr_error *err)
{
    const struct kvr_plot_options options = {.folder = folder,
                                             .formats = {[KVR_PICTURE_SVG] = true}};
    struct kvr_error why = KVR_ERROR_NONE;
    struct kvr_plotter *plotter = NULL;
    *figures = (struct kvr_report_figures){.count = 0};
    enum kvr_status status = kvr_plotter_open(&options, &plotter, &why);
    if (status == KVR_NO_MEMORY || status == KVR_INTERNAL) {
        *err = why;
        return status;
    }
    if (status != KVR_OK) {
        snprintf(figures->note, sizeof figures->note, "No figures: %s%s%s", why.message,
                 why.hint[0] != '\0' ? "; " : "", why.hint);
        return KVR_OK;
    }
    status = draw_all(plotter, figures, err);
    kvr_plotter_close(plotter);
    return status;
}

void kvr_report_figures_free(struct kvr_report_figures *figures)
{
    for (size_t i = 0; i < figures->count; i++)
        kvr_drawing_free(&figures->drawings[i]);
    free(figures->figures);
    free(figures->drawings);
    figures->figures = NULL;
    figures->drawings = NULL;
    figures->count = 0;
}
