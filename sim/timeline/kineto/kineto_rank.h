#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/timeline/kineto/kineto_trace.h"

namespace shardsim {

// The number behind the last "rank" of a file's name.
std::optional<std::int64_t> rank_in_name(const std::string& path);

// The ranks in "[0, 1]"; none when the list was cut, or names a rank outside the world.
std::vector<int> members_in(const std::string& text, int world_size);

// One rank's trace: which iteration a kernel belongs to, and which collective it carries out. The trace outlives it.
class KinetoRank {
 public:
  explicit KinetoRank(const KinetoTrace& trace);

  // The step that launched it; 0 in a trace without steps; nothing outside all steps.
  std::optional<int> iteration_of(const KinetoTrace::Kernel& kernel) const;

  // Its own arguments, else those of the record_param_comms that launched it: by id, or by time on the same thread.
  TracedCollective collective_of(const KinetoTrace::Kernel& kernel) const;

 private:
  double launch_us(const KinetoTrace::Kernel& kernel) const;

  const KinetoTrace& trace_;
  std::vector<KinetoTrace::Step> steps_;
  std::vector<KinetoTrace::Comms> comms_;
  std::map<std::int64_t, const KinetoTrace::Comms*> by_id_;
};

}  // namespace shardsim
