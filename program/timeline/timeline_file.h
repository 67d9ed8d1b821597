#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "program/timeline/named_times.h"
#include "program/timeline/timeline.h"

namespace shardsim {

struct TimelineFile {
  std::string scenario_text;
  std::uint64_t seed = 1;
  std::string version;
  std::string created;  // ISO 8601, only with --stamp; "" otherwise
  struct OfCase {
    std::string name;
    const Timeline* timeline = nullptr;
    const std::vector<RankTimes>* ranks = nullptr;  // its rank_times(); null: they are computed
  };
  std::vector<OfCase> cases;
};

// docs/formats/timeline.md, timeline.h5 (`shardsim.timeline/1`): the same bytes for the same input. Appears whole or
// not at all. Errors: Failure::run naming the path.
void write_timelines(const std::filesystem::path& path, const TimelineFile& file);

// The named case of a file written by write_timelines. It is read
// in a process of its own, which may crash without harm. Errors: Failure::input naming the path and what is wrong.
Timeline read_timeline(const std::filesystem::path& path, const std::string& case_name);
std::vector<std::string> timeline_cases(const std::filesystem::path& path);

}  // namespace shardsim
