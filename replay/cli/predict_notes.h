/*
 * What to keep in mind about a prediction: which of its weaknesses this one has.
 */
#ifndef KVR_PREDICT_NOTES_H
#define KVR_PREDICT_NOTES_H

#include "analysis/predict.h"
#include "formats/base/text.h"

/* Adds the notes that apply, warnings first. */
void kvr_predict_notes(const struct kvr_prediction *prediction, struct kvr_text *page);

#endif
