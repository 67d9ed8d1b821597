#include "sim/confidence/iteration_judge.h"

#include <algorithm>
#include <utility>

#include "sim/timeline/host_waits.h"

namespace shardsim {

JudgedIteration judged_iteration(double ms, const Timeline& timeline, DrawnSpread spread) {
  double host_ms = 0;
  for (const HostShare& host : host_times_of(timeline)) host_ms = std::max(host_ms, host.waited_for_ms);
  return {ms, timeline, named_times_alone(timeline), host_ms, std::move(spread)};
}

IterationJudge::IterationJudge() : errors_(shipped_residuals()), gpus_(shipped_gpu_table()) {}

std::vector<IterationPart> IterationJudge::parts(const Case& item, const JudgedIteration& iteration) const {
  return parts_of(item, iteration.timeline, iteration.times, iteration.host_ms, gpus_);
}

Interval IterationJudge::interval(const Case& item, const JudgedIteration& iteration,
                                  const std::string& left_out) const {
  return errors_.interval(iteration.ms, setting_of(item, iteration.timeline.world_size), parts(item, iteration),
                          iteration.spread, left_out);
}

Interval IterationJudge::wordless_interval(const Case& item, const JudgedIteration& iteration) const {
  IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  setting.model.clear();
  setting.plan.clear();
  return errors_.wordless_interval(iteration.ms, setting, parts(item, iteration), iteration.spread);
}

}  // namespace shardsim
