/*
 * The figures of `kvreplay predict`, one after the other.
 */
#include "replay/cli/predict_figures.h"

#include "formats/base/outfile.h"
#include "plots/predict_figure.h"
#include "replay/cli/picture_options.h"

static enum kvr_status draw(struct kvr_predict_figure *figure, struct kvr_plotter *plotter,
                            const char *folder, struct kvr_error *err)
{
    struct kvr_drawing drawing;
    enum kvr_status status = kvr_predict_draw(figure, plotter, &drawing, err);
    if (status == KVR_OK && drawing.reason == NULL) {
        kvr_print_plot_notes("", drawing.remarks);
        status = kvr_drawing_save(&drawing, folder, err);
    }
    kvr_drawing_free(&drawing);
    return status;
}

enum kvr_status kvr_predict_figures(const struct kvr_prediction *prediction,
                                    const struct kvr_plot_options *options, const char *folder,
                                    struct kvr_error *err)
{
    struct kvr_plotter *plotter = NULL;
    enum kvr_status status = kvr_plotter_open(options, &plotter, err);
    if (status == KVR_OK)
        kvr_print_plot_notes("", kvr_plotter_notes(plotter));
    if (status == KVR_OK)
        status = kvr_make_folder(folder, err);
    for (size_t i = 0; i < prediction->section_count; i++)
        for (unsigned p = 0; status == KVR_OK && p < KVR_PREDICTORS; p++) {
            struct kvr_predict_figure figure = {
                .prediction = prediction, .section = i, .predictor = (enum kvr_predictor)p};
            if (!prediction->sections[i].mixed)
                status = draw(&figure, plotter, folder, err);
        }
    kvr_plotter_close(plotter);
    return status;
}
