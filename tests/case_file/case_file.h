#pragma once

#include <string>
#include <vector>

#include "tests/case_file/fields.h"

namespace shardsim::golden {

// A program over one file of cases, {schema, ..., cases: [{id, kind, ...}]}: it recomputes every case, prints what
// differs, and closes with "N passed, N failed".
struct CaseProgram {
  std::string name;
  bool (*knows)(const Json& root);  // whether the file's schema is ours
  std::string schema;               // what it has to be, for the message
  // Compares one case of the file; throws if it does not understand the case.
  std::vector<std::string> (*differences)(const Json& item, const Json& root);
};

// Exit status: 0 all passed, 1 some failed, 2 no such file, or no file of this form: one clear error on stderr.
int run_case_program(const CaseProgram& program, int argc, char** argv);

}  // namespace shardsim::golden
