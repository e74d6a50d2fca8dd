/*
 * The options --samples and --layers: which parts of a trace a command looks at.
 */
#ifndef KVR_TRACE_PARTS_H
#define KVR_TRACE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

/*
 * Sample names, comma separated, to flags: *chosen has sample_count entries and is to be freed;
 * NULL (all) where text is NULL. An unknown name lists those that there are.
 */
enum kvr_status kvr_choose_samples(const struct kvr_trace *trace, const char *text, bool **chosen,
                                   struct kvr_error *err);

/*
 * Layer numbers and ranges ("0,4-7"), to numbers: *layers is to be freed; NULL (all) where text is
 * NULL. A number that no sample has is refused; of a range, only the numbers that exist are taken.
 */
enum kvr_status kvr_choose_layers(const struct kvr_trace *trace, const char *text,
                                  uint32_t **layers, size_t *count, struct kvr_error *err);

#endif
