/*
 * What gnuplot's SVG lacks to stand inside a page.
 */
#ifndef KVR_SVG_POLISH_H
#define KVR_SVG_POLISH_H

#include "formats/base/status.h"
#include "formats/base/text.h"

/*
 * Rewrites gnuplot's SVG `svg` of the figure `name` into `out`: black becomes the colour of the
 * surrounding text (so that a dark page shows it), fonts get fallbacks, ids begin with the figure's
 * name (so that several may share a page), a title for screen readers.
 */
void kvr_svg_polish(const char *svg, const char *name, const char *title, struct kvr_text *out);

#endif
