#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/study/result.h"

namespace shardsim {

// The answer in a few sentences: the fastest plan of each workload, by how much, what limits it, whether it fits, and
// how far the predictions are from what was published.
std::string summary_text(const StudyResult& study);

// The last of these: median and worst error of the published times that nothing was fitted to; "" when there is none.
std::string accuracy_text(const StudyResult& study);

// Every note once, with the cases that it holds for, in the order they come up.
std::vector<std::pair<std::string, std::vector<std::string>>> notes_by_text(const StudyResult& study);

// "a, b, c and 47 more".
std::string some_names(const std::vector<std::string>& names);

}  // namespace shardsim
