/*
 * What the commands that draw have in common: --format, --width, and notes about gnuplot.
 */
#ifndef KVR_PICTURE_OPTIONS_H
#define KVR_PICTURE_OPTIONS_H

#include "plots/figures.h"
#include "replay/cli/command.h"

/* Fills formats (svg if none is asked for) and width. */
enum kvr_status kvr_picture_options_parse(const struct kvr_command *command,
                                          const struct kvr_arguments *arguments,
                                          struct kvr_plot_options *options, struct kvr_error *err);

/* Prints each of the lines as a note on standard error, with `before` in front. */
void kvr_print_plot_notes(const char *before, const char *lines);

#endif
