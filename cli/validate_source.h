#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "sim/program/program.h"
#include "sim/timeline/timeline.h"

namespace shardsim {

// What shardsim-validate executes and how it writes what it saw. There are two: the full one reads scenarios and writes
// HDF5; the bare one (validate/bare/) of compute nodes without libraries reads program files and writes JSON.

struct ValidateSource {
  Program program;
  std::string scenario_text;
  std::uint64_t seed = 1;
};

std::vector<OptionSpec> source_options();  // --case, --set ... where there are scenarios
std::string_view source_usage();           // lines of the help for these
ValidateSource load_source(const Arguments& arguments);

// By the ending: .h5, or .json. Errors: Failure::run naming the path; Failure::input for an ending it cannot write.
void check_timeline_ending(const std::string& path);
void save_timeline(const std::filesystem::path& path, const ValidateSource& source, const Timeline& timeline);

}  // namespace shardsim
