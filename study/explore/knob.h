#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "study/scenario/scenario.h"

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

}  // namespace shardsim
