#pragma once

#include <string>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

// Sentences about the memory of a simulated case: that a GPU holds more at its simulated peak than is left beside what
// is reserved, or little less; what the peak cannot count; and rows in host memory whose size the cluster does not
// state.
std::vector<std::string> memory_notes(const CaseResult& result, const PreparedCase& prepared);

// The last of them alone, of any plan; none where host memory is stated or the plan keeps no rows there.
std::vector<std::string> host_memory_notes(const PreparedCase& prepared);

// What a plan keeps in host memory, and of how much where that is stated; none where that is nothing.
std::vector<std::string> host_rows_notes(const PreparedCase& prepared);

// "76.15 GiB (of 79.65, 3.5 are reserved)": what a GPU has for a plan.
std::string room_text(const Cluster& cluster);

// What the GPUs of a plan hold at the peak of a simulated iteration, as `shardsim run` simulates it.
MemoryProfile simulated_memory(const PreparedCase& prepared);

}  // namespace shardsim
