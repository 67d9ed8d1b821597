#pragma once

#include <filesystem>
#include <string>

#include "base/tree/tree.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// One run as the JSON form holds it: the case it ran and what ran when.
struct NamedTimeline {
  std::string case_name;
  Timeline timeline;
  bool operator==(const NamedTimeline&) const = default;
};

// docs/formats/timeline.md, "Timeline as JSON" (`shardsim.timeline_json/1`): what a program without HDF5 writes.
// Reading back what was written gives an equal value. Errors: std::logic_error for a Timeline that no reader would
// take.
std::string timeline_to_json(const Timeline& timeline, const std::string& case_name);

// Errors: Failure::input with file and line: not this format, unknown, missing or duplicate keys, columns of unequal
// length, an end before its start, a rank outside the world, an op or a stream outside its table.
NamedTimeline timeline_from_tree(const Tree& tree);
NamedTimeline read_timeline_json(const std::filesystem::path& path);

}  // namespace shardsim
