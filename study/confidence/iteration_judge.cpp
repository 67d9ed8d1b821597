#include "study/confidence/iteration_judge.h"

#include <algorithm>

namespace shardsim {
namespace {

// The system whose errors say nothing of this case; "" where all of them count. A point of a sweep is a case of a
// published model on its own system as much as the case of the scenario that states the published time.
std::string own_system(const Case& item, const IterationSetting& setting, const ErrorModel& errors) {
  const bool published =
      std::ranges::any_of(item.published, [](const Published& number) { return number.quantity == "iteration"; });
  return published || errors.has_published(setting) ? setting.system() : "";
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
  return with_doubts(errors_.interval(iteration.ms, setting, parts(item, iteration), iteration.spread,
                                      own_system(item, setting, errors_)),
                     iteration);
}

Interval IterationJudge::wordless_interval(const Case& item, const JudgedIteration& iteration) const {
  IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  const std::string own = own_system(item, setting, errors_);
  setting.model.clear();
  setting.plan.clear();
  return with_doubts(errors_.wordless_interval(iteration.ms, setting, parts(item, iteration), iteration.spread, own),
                     iteration);
}

}  // namespace shardsim
