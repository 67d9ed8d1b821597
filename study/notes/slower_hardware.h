#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/result/hardware.h"

namespace shardsim {

// A time on a cluster, to be compared with others.
struct TimeOnCluster {
  std::string cluster;    // its name
  std::string transport;  // of its network between nodes
  std::string asked;      // what else decides the time: workload, batch, GPUs, plan; alike where the texts are
  double ms = 0;
  bool set_by_host = false;  // Interval::is_set_by_host()
};

// Sentences on clusters of different names whose times are the same to the last bit, each pair once: their hosts
// hide what differs, or the model has nothing that tells them apart, and that is no evidence that they are equally
// fast.
std::vector<std::string> alike_clusters(const std::vector<TimeOnCluster>& times);

struct Scenario;
struct StudyResult;

// A time on a cluster, beside others of the same question.
struct TimeOnHardware {
  std::string name;  // as a sentence has it
  const ClusterSpec* cluster = nullptr;
  double ms = 0;
};

// The numbers of those of `others` that `fast` beats by a telling part although nothing of its hardware is faster, the
// slowest first.
std::vector<std::size_t> beaten_on_better_hardware(const TimeOnHardware& fast,
                                                   const std::vector<TimeOnHardware>& others);

// Why a plan on better hardware may be slower, and what to do, in a sentence.
inline constexpr std::string_view kAnotherPlan =
    "The planner uses what the better hardware has more of for another plan: 'plan: {file: FILE}' keeps the faster "
    "one there.";

// "2.4 % faster than A and 1.1 % faster than B and 2 more": of `beaten`, as above and not empty, three by name.
std::string lead_text(const TimeOnHardware& fast, const std::vector<TimeOnHardware>& others,
                      const std::vector<std::size_t>& beaten);

// "It is 2.4 % faster than A ..., although nothing of its cluster is faster".
std::string beaten_text(const TimeOnHardware& fast, const std::vector<TimeOnHardware>& others,
                        const std::vector<std::size_t>& beaten);

// Adds a note to every case that is faster on slower hardware than cases that ask for the same, or have the same plan,
// and sets its `beats_better_hardware`.
// `study`: of that scenario, with the `why` of its cases.
void add_slower_hardware_notes(StudyResult& study, const Scenario& scenario);

}  // namespace shardsim
