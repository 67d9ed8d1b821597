#pragma once

#include <optional>
#include <string>

#include "base/document/document.h"
#include "validate/measurements/judgement.h"

namespace shardsim {

// What `collective compare` has to say: the figures per system, collective and size band, the figures over all systems,
// a sentence that sums them up. A page also has a chart of predicted against measured times for each system
// (plots/predicted_vs_measured.vg.json).
Document judgement_document(const Judgement& judgement, Medium medium);

// In a sentence: how many rows and systems, the median error from 1 MiB up, what was left out.
std::string judgement_summary(const Judgement& judgement);

std::string judgement_text(const Judgement& judgement, int width, bool colour);
std::string judgement_html(const Judgement& judgement);  // errors: as page_html()

// The tables of docs/accuracy.md about collectives: over all systems, each system against the bound of its collective,
// the rows out of the model, the fitted constants.
std::string judgement_markdown(const Judgement& judgement);

// The table of docs/accuracy.md about calibrated systems: per system and collective the rows used and the errors on the
// others, against the bounds of calibrated predictions.
std::string calibrated_markdown(const CalibratedJudgement& calibrated);

}  // namespace shardsim
