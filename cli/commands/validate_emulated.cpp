#include "accuracy/emulated/campaign_round.h"
#include "accuracy/emulated/emulated_scenario.h"
#include "base/stop_signals.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"

namespace shardsim {
namespace {

constexpr int kUnfit = 77;
constexpr int kMostIterations = 100'000;

// The exit code, once a verdict is in: what was found goes to standard output, why it is none to stderr.
int tell(const std::string& unfit, const std::string& text, bool holds) {
  if (!unfit.empty()) {
    say("skipped: " + unfit);
    return kUnfit;
  }
  print_result(text);
  if (holds) return 0;
  say("error: outside the tolerance: see the rows marked OUTSIDE (in JSON, the key outside)");
  return kOutsideTolerance;
}

std::vector<Option> options_of_scenario() {
  return std::vector<Option>{
             {"warmup", 0, "N", "With a scenario: the number of iterations that run first and are not counted.", "2"},
             {"iterations", 0, "N", "With a scenario: the number of iterations that are counted.", "10"},
             {"at-least", 0, "TIME",
              "With a scenario: add iterations to a case until its counted ones take at least this long in total.",
              "0 s"},
             {"compute-of-scenario", 0, "",
              "Predict the compute operations with the scenario's compute model instead of measuring kernels on this "
              "machine first."},
             {"beside", 0, "PATH=VALUE",
              "With a scenario: also predict every case with this value changed, and show that prediction beside the "
              "same observation. It is not judged.",
              "", Option::Times::any},
             cases_option()} +
         scenario_options();
}

void refuse_scenario_options(const Arguments& given) {
  for (const Option& option : options_of_scenario()) {
    if (given.has(option.name))
      throw input_error(Arguments::place(option.name), "there is no scenario", "Name one, or leave the option out");
  }
}

Scenario scenario_of(const Arguments& given, const Overrides& changes) {
  return chosen_cases(read_scenario(given.positional()[0], changes), given);
}

ScenarioRoundOptions::Beside beside_of(const Arguments& given) {
  Overrides changes = overrides(given);
  add_settings(changes, given, "beside");
  return {given.values("beside"), scenario_of(given, changes)};
}

int judge_scenario(const Arguments& given, const Terminal& terminal) {
  ScenarioRoundOptions options;
  options.warmup = static_cast<int>(*given.count("warmup", 0, kMostIterations));
  options.iterations = static_cast<int>(*given.count("iterations", 1, kMostIterations));
  options.at_least = parse_seconds(given.text("at-least"), Arguments::place("at-least"));
  options.bench_compute = !given.has("compute-of-scenario");
  options.interrupted = terminal.interrupted;
  if (given.has("beside")) options.beside = beside_of(given);
  const Scenario scenario = scenario_of(given, overrides(given));
  const StopDelay in_order;  // namespaces and ranks go before the program does
  const ScenarioRound round = validate_emulated_scenario(scenario, options);
  if (!round.unfit.empty()) return tell(round.unfit, "", false);
  return tell("", given.has("json") ? round_json(round) : shown_text(round_document(round), given, terminal),
              round.holds());
}

int judge_campaign(const Arguments& given, const Terminal& terminal) {
  const StopDelay in_order;
  const CampaignReport report = validate_emulated({}, terminal.interrupted);
  if (!report.unfit.empty()) return tell(report.unfit, "", false);
  return tell("", given.has("json") ? report_json(report) : shown_text(report_document(report), given, terminal, 2),
              report.holds());
}

int validate_on_emulated(const Arguments& given, const Terminal& terminal) {
  if (!given.positional().empty()) return judge_scenario(given, terminal);
  refuse_scenario_options(given);
  return judge_campaign(given, terminal);
}

}  // namespace

Command validate_emulated_command() {
  return {
      .name = "shardsim validate-emulated",
      .summary = "compare predicted with observed times on an emulated cluster, of collectives or of whole iterations",
      .positionals = {{"SCENARIO",
                       "Run whole iterations of every case of this scenario. Without it, collectives are run.", true}},
      .options =
          std::vector<Option>{{"json", 0, "", "Print one JSON document instead of the table."}, details_option()} +
          options_of_scenario(),
      .notes =
          "Without a scenario, the command sets up 8 ranks on 2 nodes as `shardsim emulate` does, checks between pairs "
          "of\n"
          "ranks that the links reach the rates that were set, runs a series of collectives, runs it again with one "
          "NIC at\n"
          "half its rate, simulates the same Programs on the cluster emulated_2x4, and compares (docs/emulated.md). No "
          "value\n"
          "is fitted. It takes about 25 s. With a scenario, whole iterations of its cases run on the cluster that it "
          "names.\n"
          "Exit code 4: a prediction is outside its tolerance. 77: this machine cannot run it; the reason is printed.",
      .examples = {"shardsim validate-emulated", "shardsim validate-emulated scenarios/emulated.yaml --iterations 5"},
      .run = validate_on_emulated};
}

}  // namespace shardsim
