#include "study/confidence/iteration_judge.h"

#include <algorithm>

namespace shardsim {
namespace {

// The system whose errors say nothing of this case; "" where all of them count.
std::string own_system(const Case& item, const IterationSetting& setting) {
  const bool published =
      std::ranges::any_of(item.published, [](const Published& number) { return number.quantity == "iteration"; });
  return published ? setting.system() : "";
}

}  // namespace

IterationJudge::IterationJudge() : errors_(shipped_residuals()), gpus_(shipped_gpu_table()) {}

std::vector<IterationPart> IterationJudge::parts(const Case& item, const JudgedIteration& iteration) const {
  return parts_of(item, iteration.ms, iteration.timeline, iteration.path, gpus_);
}

Interval IterationJudge::interval(const Case& item, const JudgedIteration& iteration) const {
  const IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  return errors_.interval(iteration.ms, setting, parts(item, iteration), iteration.spread, own_system(item, setting));
}

Interval IterationJudge::wordless_interval(const Case& item, const JudgedIteration& iteration) const {
  IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  setting.model.clear();
  setting.plan.clear();
  return errors_.wordless_interval(iteration.ms, setting, parts(item, iteration), iteration.spread,
                                   own_system(item, setting));
}

}  // namespace shardsim
