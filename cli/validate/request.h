#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result_folder.h"
#include "cli/arguments/command.h"
#include "validate/execute/meet/join.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

// A file or folder of results that is asked for. An incomplete result does not replace an earlier one, which may have
// taken hours and be complete.
struct ResultPath {
  std::string path;    // "": none
  bool stays = false;  // it was there before

  // The path of a rank's result: beside that of rank 0, "seen.timeline.rank3.json" for "seen.timeline.json". Another
  // rank writes its result only if rank 0 has died.
  std::string of(int rank, bool complete) const;
};

// The request to shardsim-validate.
struct ValidateRequest {
  std::string program;             // the file, or the scenario
  ResultPath output;               // the observed timeline; not written with --check-data
  ResultPath trace;                // folder of Kineto traces
  ResultWriter writer;             // of both
  double patience = 0;             // seconds that an operation may take
  int check_iterations = 0;        // --check-data; 0: measure
  std::optional<int> port;         // where rank 0 listens; none: as the launcher says
  std::string secret_file;         // "": the secret is in the environment, or there is none
  double join_limit = kJoinLimit;  // seconds
  ExecuteOptions options;          // but for give_up, which whoever runs the ranks sets
};

// The options that it is asked by, beside those of the source (cli/file_kinds.h).
std::vector<Option> validate_options();

// Errors (Failure::input, at the option): an empty or impossible value, a device or transport that this build has not,
// an output that is missing, of an ending that this build cannot write, or there already and no timeline.
ValidateRequest validate_request(const Arguments& given);

}  // namespace shardsim
