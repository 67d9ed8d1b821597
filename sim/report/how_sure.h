#pragma once

#include "base/document/document.h"
#include "sim/study/result.h"

namespace shardsim {

// How sure the figures are: the chance that the fastest plan of each choice is faster than each of the others and what
// choosing it may cost, what the intervals rest on, and what of the cases nobody has measured. A terminal shows some of
// many.
Section how_sure_section(const StudyResult& study, Medium medium);

// "It is faster than row_wise with a chance of 97 %; choosing it costs 0.1 % on average." of the choice that the
// fastest case of a study belongs to; "" where there is no choice.
std::string choice_sentence(const StudyResult& study);

}  // namespace shardsim
