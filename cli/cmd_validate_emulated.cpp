#include <cstdio>

#include "cli/arguments.h"
#include "cli/command.h"
#include "validate/validate_emulated.h"

namespace shardsim {
namespace {

constexpr int kOutsideTolerance = 4, kUnfit = 77;

}  // namespace

int validate_emulated_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const Arguments given(arguments, {{"json", 0, false, false}}, 0, 0, "shardsim validate-emulated [--json]");
  const EmulatedOutcome outcome = validate_emulated({}, terminal.interrupted);
  if (!outcome.unfit.empty()) {
    std::fputs(("skipped: " + outcome.unfit + "\n").c_str(), stderr);
    return kUnfit;
  }
  const CampaignReport& report = outcome.report;
  const std::string text =
      given.has("json") ? report_json(report) : report_text(report, terminal.width, terminal.colour);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (report.holds()) return 0;
  std::fputs("error: outside the tolerance: see the rows marked OUTSIDE (within_band false in JSON)\n", stderr);
  return kOutsideTolerance;
}

}  // namespace shardsim
