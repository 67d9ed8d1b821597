#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"
#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

// The kinds of files that a build of shardsim-validate and shardsim-microbench reads and writes. There are two builds:
// the full one reads scenarios and writes HDF5, too; the bare one (cli/bare/) of compute nodes without libraries reads
// program files and writes JSON and CSV.

// The input of shardsim-validate.
struct ValidateSource {
  Program program;
  std::string scenario_text;
};

std::vector<Positional> source_positionals();
std::vector<Option> source_options();  // --case, --set ... where there are scenarios
std::string timeline_kinds();          // a sentence of the help: what -o may name
ValidateSource load_source(const Arguments& arguments);

// By the ending: .h5, or .json. Errors: Failure::run naming the path; Failure::input for an ending it cannot write.
void check_timeline_ending(const std::string& path);
void save_timeline(const std::filesystem::path& path, const ValidateSource& source, const Timeline& timeline);

// The endings of the files that the micro-benchmark can write, and the writer, which chooses the format by the ending.
// Errors: Failure::run naming the path.
std::vector<std::string> measured_endings();  // ".csv", ...
void save_measured(const MeasuredSet& set, const std::string& path);

}  // namespace shardsim
