#pragma once

#include <filesystem>
#include <string>

#include "sim/timeline/timeline.h"

namespace shardsim {

// One rank of a Timeline as a Chrome / Kineto trace that Perfetto opens and Holistic Trace Analysis loads.
// `whole_us` rounds times to whole microseconds (HTA loses up to 2 us per kernel otherwise).
std::string kineto_trace(const Timeline& timeline, int rank, const std::string& case_name, bool whole_us);

// FOLDER/rankN.json for every rank (the folder is trace/CASE). Errors: Failure::run naming the path.
void write_kineto_traces(const std::filesystem::path& folder, const Timeline& timeline, const std::string& case_name,
                         bool whole_us);

}  // namespace shardsim
