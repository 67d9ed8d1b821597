#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/result/result.h"

namespace shardsim {

// How sure a figure or a choice is, in the words of a cell or a sentence, wherever one stands.

// "17-27": milliseconds, to as many digits as they are worth. "17-27?" of a case of which something was never measured.
std::string interval_cell(const Interval& interval);
// In per cent, "93.2", but at most "> 99.9", because the tails of the error distribution are not known that far out.
std::string chance_cell(double chance);
// In place of a chance, where two figures differ by less than a ten-thousandth.
inline constexpr const char* kEqual = "equal";
// A cell of per cent, "0.56", "< 0.05".
std::string regret_cell(double percent);
// To follow the header of its column.
inline constexpr const char* kIntervalLegend =
    ": the range that contains the real iteration in four of five cases, judging by the errors of earlier predictions "
    "of published times; with a question mark where something of the case was never measured.";
// Returns the parts of a case that nobody has measured, in a sentence; "" where all of it was.
std::string outside_sentence(const std::vector<std::string>& outside);
// Explains the question marks of these intervals: "?: not counted in the range: no published run on toy."; "" where
// none has one. `more`: where all is said, if there is more than two say.
std::string doubt_sentence(const std::vector<const Interval*>& intervals, std::string_view more);

// A link by the name that Cluster gives it, in words: "NIC 7 of node 7, receiving" of "node7/nic7/in". Any other text,
// such as "rank 3 compute", stays as it is.
std::string unit_in_words(const std::string& name);
// The same for a cell of a table on a terminal: "node 7 NIC 7 in".
std::string unit_in_short(const std::string& name);

// The kind of link that limits, with its verb: "NICs limit", "NVLink limits"; "" of any other text.
std::string kind_that_limits(const std::string& name);

}  // namespace shardsim
