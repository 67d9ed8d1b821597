// torchrec_golden FILE: recomputes every case of a golden file of TorchRec's planner (README.md beside this file says
// its form) and compares. Prints what differs; the last line reads "N passed, N failed". Exit 0: all passed, 1: some
// failed, 2: no such file, or no golden file.

#include "tests/case_file/case_file.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

constexpr const char* kFormat = "shardsim TorchRec planner golden cases 1";        // of version 2025-10
constexpr const char* kNewestFormat = "shardsim TorchRec planner golden cases 2";  // of version 2026-08

// A file without a format is taken as one of ours, of the older version.
Json format_of(const Json& root) {
  const Json& schema = root.contains("schema") ? root.at("schema") : Json::object();
  return schema.is_object() ? schema.value("format", Json(kFormat)) : Json(kFormat);
}

bool knows(const Json& root) {
  return format_of(root) == kFormat || format_of(root) == kNewestFormat;
}

std::vector<std::string> check_case(const Json& item, const Json& root) {
  using enum torchrec::PlannerVersion;
  Fields fields(item, "case");
  const std::string name = fields.text("kind");
  fields.ignore({"id", "origin", "note"});
  const Json& input = fields.at("input");
  const Json& expect = fields.at("expect");
  fields.finish();
  if (expect.empty()) return {"it expects nothing"};
  for (const Kind& kind : kinds()) {
    if (kind.name != name) continue;
    if (kind.check != nullptr) return kind.check(input, expect);
    return kind.versioned(input, expect, format_of(root) == kNewestFormat ? v2026_08 : v2025_10);
  }
  return {"unknown kind '" + name + "'"};
}

}  // namespace
}  // namespace shardsim::golden

int main(int argc, char** argv) {
  using namespace shardsim::golden;
  return run_case_program({"torchrec_golden", knows, std::string(kFormat) + ", or 2", check_case}, argc, argv);
}
