#pragma once

#include "base/document/document.h"
#include "study/confidence/interval.h"
#include "study/result/result.h"

namespace shardsim {

// Explains the question mark of a range, and names the cases that have one; "" if none has.
std::string doubt_sentence(const StudyResult& study);
// True where the fastest case and the next take as long: the sentence on planners says so.
bool chosen_is_as_fast(const StudyResult& study);
// Why a case stands before one that is told with less time or more samples per second: cases stand in the order of
// their means over the placements of hot rows, of which one is told. The first such pair, or only that of the case
// which is chosen; "" where there is none.
std::string order_sentence(const StudyResult& study, bool of_first_alone = false);
// That clusters which a workload is run on rest on unlike evidence, for the first such workload; "" where none does.
std::string evidence_sentence(const StudyResult& study);
// The chance that the chosen case is faster than another one; "equal" where they take as long.
std::string other_cell(const StudyResult& study, const Choice& choice, const Choice::Other& other);
// Between which a further one of such values lies in four of five cases. The middle of as many values as were drawn is
// narrower: their own ends are known of a few values alone.
struct FourInFive {
  double low = 0, high = 0;
};
FourInFive four_in_five(const std::vector<double>& drawn);
// The section on how sure the figures are: the chance that the fastest plan of each choice is faster than each of the
// others and what choosing it may cost, what the intervals rest on, and what of the cases nobody has measured. A
// terminal shows some of many.
Section how_sure_section(const StudyResult& study, Medium medium);

// "It is faster than row_wise with a chance of 97 %; choosing it costs 0.1 % on average." of the choice that the
// fastest case of a study belongs to; "" where there is no choice.
std::string choice_sentence(const StudyResult& study);

}  // namespace shardsim
