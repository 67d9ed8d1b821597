#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/workers.h"
#include "study/result/result.h"
#include "study/run/study.h"
#include "study/scenario/scenario.h"
#include "study/scenario/scenario_reader.h"

namespace shardsim {

// The paths and values of --set, in order.
using Settings = std::vector<std::pair<std::string, std::string>>;

// One thing of a case that the page of `shardsim explore` lets its reader change.
struct Knob {
  struct Option {
    std::string value, label;
  };
  std::string id{}, label{};
  std::string unit{};                // of `value` and `stops`; "" for counts and choices
  std::string path{};                // of --set
  std::string value;                 // as the case has it; of a choice "" where the case has none of its options
  std::vector<double> stops = {};    // of a slider; none for a choice
  std::vector<Option> options = {};  // of a choice
  std::string help{};                // a sentence
};

// A reader's question: the values of knobs that were touched, by their id.
using KnobValues = std::map<std::string, std::string>;

// The machines and GPUs that a knob may choose, which are read from the shipped clusters once.
struct ShippedHardware {
  std::vector<Knob::Option> clusters;               // those that a case of as many nodes can run on
  std::vector<Knob::Option> gpus;                   // by product name
  std::map<std::string, std::string> gpu_maps;      // the key `gpu` of a cluster, by product name
  static ShippedHardware read(bool several_nodes);  // `several_nodes`: clusters without NICs are left out
};

// The knobs of a case as they stand in `now`, which is `base` after some were turned; those that it has nothing for are
// left out. They are in the order in which their settings are applied.
std::vector<Knob> knobs_of(const Case& now, const Case& base, const ShippedHardware& hardware);

// The settings that turned knobs stand for. Errors (Failure::input): a knob that there is not.
Settings settings_of_knobs(const KnobValues& values, const Case& base, const ShippedHardware& hardware);

// A case with some knobs turned, as the page asks for it.
struct Turned {
  std::string case_name;
  KnobValues knobs;
  std::vector<std::string> more;  // KEY=VALUE, as --set takes it

  bool operator==(const Turned&) const = default;
};

// A request of the page: a case, and the one that it is compared with, where one is pinned.
struct ExploreRequest {
  Turned now;
  std::optional<Turned> pinned;
};

// Reads a request, as the page sends it in JSON (docs/explore.md). Errors (Failure::input): anything else.
ExploreRequest read_request(std::string_view json);

// A case that was simulated, by the runner of `shardsim run`.
struct Explored {
  Turned turned;
  Settings settings;  // in order, with those of the command line before the knobs'
  Scenario scenario;  // with this case alone
  StudyResult study;  // of it

  const Case& item() const { return scenario.cases.front(); }
  const CaseResult& result() const { return study.cases.front(); }
};

// The answers behind the page of `shardsim explore`. All that it tells of a case is what run_study() says of the
// scenario with the same settings, so that the numbers are those of `shardsim run` to the last bit.
class Explorer {
 public:
  // `given`: the changes of the command line, which every case has. Errors: those of read_scenario(); a scenario
  // without a case that has one plan.
  Explorer(std::string path, Overrides given);

  const std::string& title() const { return title_; }
  const std::vector<std::string>& cases() const { return cases_; }

  // Simulates a case, or takes it from the last few. Errors: those of `shardsim run`; Interrupted.
  std::shared_ptr<const Explored> explored(const Turned& turned, const WorkerOptions& workers);

  // The answer to a request as JSON, what went wrong included (error_answer()); Interrupted passes.
  std::string answer(const ExploreRequest& request, const WorkerOptions& workers);

  // The case as a scenario file by itself, which `shardsim run` reads with the same result, from whatever folder it
  // lies in. Errors: those of explored(); Failure::input where no such file can be written.
  std::string scenario_file(const Turned& turned, const WorkerOptions& workers);

  // The command that prints the same.
  std::string command(const Explored& explored) const;

 private:
  const Case& base_of(const std::string& case_name);
  Overrides overrides_for(const Turned& turned);
  const ShippedHardware& hardware(bool several_nodes);
  const ShippedHardware& hardware_for(const Case& base);

  void take_names();

  std::string path_;
  Overrides given_;
  ScenarioReader reader_;
  KeptShares shares_{KeptShares::Tried::kept};
  std::string title_;
  bool several_ = false;  // cases in the scenario, so that a command has to name one
  std::vector<std::string> cases_;
  std::map<bool, ShippedHardware> hardware_;
  std::list<std::shared_ptr<const Explored>> latest_;
};

// An error as JSON: the message of `shardsim run`, its exit code, and the id of the knob that it is about, or
// null.
std::string error_answer(const Error& error, const std::vector<Knob>& knobs = {});

// The page of `shardsim explore`, whole: style, scripts, and where it begins, with the case `first` chosen. Its scripts
// ask the server that it came from, and nobody else (docs/explore.md). `nonce`: what a Content-Security-Policy lets its
// scripts run by. Errors: Failure::run naming a file of the plots folder that is missing.
std::string explore_page(const Explorer& explorer, const std::string& first, const std::string& restart,
                         const std::string& nonce);

}  // namespace shardsim
