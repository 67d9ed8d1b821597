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

// Nobody has published a run whose rows lie in key-value stores.
Interval with_doubts(Interval interval, const JudgedIteration& iteration) {
  const std::string fetch = "store_fetch";
  if (std::ranges::find(iteration.timeline.ops, fetch, &Timeline::OpInfo::name) != iteration.timeline.ops.end())
    interval.outside.emplace_back("no published run with rows in key-value stores");
  return interval;
}

}  // namespace

IterationJudge::IterationJudge() : errors_(shipped_residuals()), gpus_(shipped_gpu_table()) {}

std::vector<IterationPart> IterationJudge::parts(const Case& item, const JudgedIteration& iteration) const {
  return parts_of(item, iteration.ms, iteration.timeline, iteration.path, gpus_);
}

Interval IterationJudge::interval(const Case& item, const JudgedIteration& iteration) const {
  const IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  return with_doubts(
      errors_.interval(iteration.ms, setting, parts(item, iteration), iteration.spread, own_system(item, setting)),
      iteration);
}

Interval IterationJudge::wordless_interval(const Case& item, const JudgedIteration& iteration) const {
  IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  setting.model.clear();
  setting.plan.clear();
  return with_doubts(errors_.wordless_interval(iteration.ms, setting, parts(item, iteration), iteration.spread,
                                               own_system(item, setting)),
                     iteration);
}

}  // namespace shardsim
