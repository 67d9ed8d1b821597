#pragma once

#include "base/packed.h"
#include "study/why/help.h"
#include "study/why/why.h"

namespace shardsim {

// The members of a Why, said once for the bytes between processes and for `shardsim why --json`
// (docs/formats/result.md).

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PathPart> auto& part) {
  visit.field("operation", part.operation);
  visit.field("kind", part.op_class);
  visit.field("ms", part.ms);
  visit.field("start_ms", part.start_ms);
  visit.field("transfer_ms", part.transfer_ms);
  visit.field("slowed_ms", part.slowed_ms);
  visit.field("rank", part.rank);
  visit.take("over", part.over);
  visit.take("link", part.link);
  visit.take("beside", part.beside);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<TablePart> auto& part) {
  visit.field("table", part.table);
  visit.field("ms", part.ms);
  visit.field("lookup_ms", part.lookup_ms);
  visit.field("exchange_ms", part.exchange_ms);
  visit.field("update_ms", part.update_ms);
  visit.field("other_ms", part.other_ms);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<CollectivePart> auto& part) {
  visit.field("operation", part.operation);
  visit.field("path_ms", part.path_ms);
  visit.field("transfer_ms", part.transfer_ms);
  visit.field("waiting_ms", part.waiting_ms);
  visit.group_or_null("waited_for", part.rank >= 0, [&](auto& inner) {
    inner.field("rank", part.rank);
    inner.field("operation", part.waited_on);
    inner.take("table", part.table);
    inner.field("waiting_ms", part.waited_ms);
  });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<SlackPart> auto& part) {
  visit.field("operation", part.operation);
  visit.field("kind", part.op_class);
  visit.field("slack_ms", part.slack_ms);
  visit.field("rank", part.rank);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Why> auto& why) {
  visit.field("iteration_ms", why.iteration_ms);
  visit.word("path_is", why.repeats, "one_iteration", "repeated");
  visit.field("sentence", why.sentence);
  visit.field("left_out", why.left_out);
  visit.field("path", why.parts);
  visit.field("tables", why.tables);
  visit.field("collectives", why.collectives);
  visit.field("slack", why.slack);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Elasticity> auto& each) {
  visit.field("lever", each.lever);
  visit.field("name", each.name);
  visit.take("table", each.table);
  visit.field("percent_per_percent", each.percent);
  visit.field("by_path", each.on_path);
  visit.field("better_10_pct", each.better_pct);
  visit.field("worse_10_pct", each.worse_pct);
  visit.field("better_set", each.better_set);
  visit.field("worse_set", each.worse_set);
  visit.word("path", each.switches, "same", "another");
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Supposed> auto& each) {
  visit.field("key", each.key);
  visit.field("text", each.text);
  visit.field("iteration_ms", each.iteration_ms);
  visit.field("shorter_pct", each.shorter_pct);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Help> auto& help) {
  visit.field("iteration_ms", help.iteration_ms);
  visit.field("elasticities", help.elasticities);
  visit.field("supposed", help.supposed);
  visit.field("remarks", help.remarks);
}

}  // namespace shardsim
