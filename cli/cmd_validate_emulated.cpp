#include <cstdio>
#include <optional>

#include "base/units.h"
#include "cli/command.h"
#include "cli/say.h"
#include "cli/scenario_arguments.h"
#include "cli/tolerance.h"
#include "validate/emulated/campaign_round.h"
#include "validate/emulated/emulated_scenario.h"

namespace shardsim {
namespace {

constexpr int kUnfit = 77;
constexpr const char* kValidateEmulatedUsage = "shardsim validate-emulated [SCENARIO] [--json]";

// The exit code, once a verdict is in: what was found goes to standard output, why it is none to stderr.
int tell(const std::string& unfit, const std::string& text, bool holds) {
  if (!unfit.empty()) {
    std::fputs(("skipped: " + unfit + "\n").c_str(), stderr);
    return kUnfit;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (holds) return 0;
  say("error: outside the tolerance: see what is marked OUTSIDE (in JSON, what is not within)");
  return kOutsideTolerance;
}

int count_of(const Arguments& given, const std::string& name, int least, int otherwise) {
  const auto text = given.value(name);
  if (!text) return otherwise;
  constexpr std::int64_t kMost = 100'000;
  const std::int64_t count = parse_count(*text, Arguments::place(name));
  if (count >= least && count <= kMost) return static_cast<int>(count);
  throw input_error(Arguments::place(name), "'" + *text + "' is not " + std::to_string(least) + " to 100000",
                    "Give a smaller count");
}

void refuse_scenario_options(const Arguments& given, const std::vector<OptionSpec>& options) {
  for (const OptionSpec& option : options) {
    if (option.name != "json" && given.has(option.name))
      throw input_error(Arguments::place(option.name), "there is no scenario", "Name one, or leave the option out");
  }
}

int judge_scenario(const Arguments& given, const Terminal& terminal) {
  ScenarioRoundOptions options;
  options.warmup = count_of(given, "warmup", 0, options.warmup);
  options.iterations = count_of(given, "iterations", 1, options.iterations);
  options.bench_compute = !given.has("compute-of-scenario");
  options.interrupted = terminal.interrupted;
  const ScenarioRound round =
      validate_emulated_scenario(read_scenario(given.positional()[0], overrides(given)), options);
  if (!round.unfit.empty()) return tell(round.unfit, "", false);
  return tell("", given.has("json") ? round_json(round) : round_text(round, terminal.width, terminal.colour),
              round.holds());
}

int judge_campaign(const Arguments& given, const Terminal& terminal) {
  const EmulatedOutcome outcome = validate_emulated({}, terminal.interrupted);
  if (!outcome.unfit.empty()) return tell(outcome.unfit, "", false);
  const CampaignReport& report = outcome.report;
  return tell("", given.has("json") ? report_json(report) : report_text(report, terminal.width, terminal.colour),
              report.holds());
}

}  // namespace

int validate_emulated_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  std::vector<OptionSpec> options = scenario_options();
  options.insert(options.end(), {{"warmup", 0, true, false},
                                 {"iterations", 0, true, false},
                                 {"compute-of-scenario", 0, false, false},
                                 {"json", 0, false, false}});
  const Arguments given(arguments, options, 0, 1, kValidateEmulatedUsage);
  if (!given.positional().empty()) return judge_scenario(given, terminal);
  refuse_scenario_options(given, options);
  return judge_campaign(given, terminal);
}

}  // namespace shardsim
