#pragma once

#include <string>
#include <vector>

namespace shardsim {

struct Scenario;
struct StudyResult;

// Two machines that one workload runs on, each with its fastest case, and how sure it is which of them is faster.
struct MachineOrder {
  std::string workload;
  std::string faster, than;  // cases
  double chance = 0;         // that `faster` really trains more samples per second than `than`
  bool operator==(const MachineOrder&) const = default;
};

// Returns for each workload on several clusters, or numbers of GPUs, every machine with the next slower one, the
// fastest first, on average over where hot rows may lie. No chance is stated where the faster one has the slower
// hardware (withhold_chances() says why), nor for jobs side by side and plans that do not fit.
std::vector<MachineOrder> machine_orders(const StudyResult& study, const Scenario& scenario);

struct Scenario;
struct StudyResult;

// The fastest of several plans of one workload on one cluster, with one batch, and how sure it is that it is.
struct Choice {
  struct Other {
    std::string name;
    double chance = 0;  // that the chosen one is faster than this one
    double regret_pct =
        0;  // what choosing it costs against this one, on average over all outcomes, per cent of this one
    bool operator==(const Other&) const = default;
  };
  std::string workload, cluster, chosen;
  double regret_pct = 0;           // against the one that it costs most against
  std::vector<Other> others = {};  // fastest first
  bool operator==(const Choice&) const = default;
};

// One for each workload, cluster, number of GPUs and batch of which there are two different ones or more: a plan
// that two cases have is one alternative, with the name of the first; jobs side by side are
// no choice.
std::vector<Choice> choices_of(const StudyResult& study);

// Withholds the chance for two cases that ask for the same and of which the faster one has the slower hardware: no
// chance is stated for that order, and a note of the faster case says why (study/notes/slower_hardware.h). It comes
// from what happens to run at once or what a planner does, which errors of parts say nothing of, and a chance of 94 %
// for a broken NIC is an advice that nobody should follow.
void withhold_chances(StudyResult& study, const Scenario& scenario);

}  // namespace shardsim
