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

}  // namespace shardsim
