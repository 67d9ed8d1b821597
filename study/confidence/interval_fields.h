#pragma once

#include "base/packed.h"
#include "study/confidence/interval.h"

namespace shardsim {

// The members of an interval, as study/result/result_fields.h has those of a result.

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<IterationSetting> auto& setting) {
  visit.field("software", setting.software);
  visit.field("version", setting.version);
  visit.field("cluster", setting.cluster);
  visit.field("gpu", setting.gpu);
  visit.field("transport", setting.transport);
  visit.field("model", setting.model);
  visit.field("plan", setting.plan);
  visit.field("nodes", setting.nodes);
  visit.field("gpus", setting.gpus);
  visit.field("batch_per_gpu", setting.batch_per_gpu);
  visit(setting.tables);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<UncertainPart> auto& part) {
  visit.field("class", part.error_class);
  visit.field("ms", part.ms);
  visit.field("error_scale", part.scale);
  visit.field("guessed", part.guessed);
  visit(part.fitted_share, part.beneath_ms);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Interval> auto& interval) {
  visit.field("low_ms", interval.low_ms);
  visit.field("high_ms", interval.high_ms);
  visit.field("coverage", interval.coverage);
  visit.field("basis", interval.basis);
  visit.field("outside", interval.outside);
  visit.field("setting", interval.setting);
  visit.field("drawn_scale", interval.spread_scale);
  visit(interval.placements);
  visit.field("rest_scale", interval.rest_scale);
  visit.field("parts", interval.parts);
}

}  // namespace shardsim
