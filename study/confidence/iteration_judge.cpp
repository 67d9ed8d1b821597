#include "study/confidence/iteration_judge.h"

namespace shardsim {

IterationJudge::IterationJudge() : errors_(shipped_residuals()), gpus_(shipped_gpu_table()) {}

std::vector<IterationPart> IterationJudge::parts(const Case& item, const JudgedIteration& iteration) const {
  return parts_of(item, iteration.ms, iteration.timeline, iteration.path, gpus_);
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
