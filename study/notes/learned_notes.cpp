// Notes on the compute model `learned`: what its nets were taught by, and which calls are like nothing they have seen.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/learned_model.h"
#include "sim/engine/op_work.h"
#include "sim/engine/row_facts.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

constexpr std::size_t kNamedCalls = 3;

std::string from_to(const std::string& noun, std::int64_t from, std::int64_t to) {
  return from == to ? fmt::format("{} {}", from, noun) : fmt::format("{} to {} {}", from, to, noun);
}

std::string taught_by(const LearnedCosts& costs) {
  const LearnedRange& range = costs.range();
  const LearnedEvidence& evidence = costs.evidence();
  std::string text = fmt::format("{}; {} calls", text_of(costs.setting()), evidence.fitted);
  if (range.tables_to > 0) text += fmt::format(" of {}", from_to("tables", range.tables_from, range.tables_to));
  if (range.columns_to > 0)
    text += fmt::format(", {} and {}", from_to("columns", range.columns_from, range.columns_to),
                        from_to("samples", range.batch_from, range.batch_to));
  if (!evidence.sets.empty()) text += "; sets " + join(evidence.sets);
  return text;
}

std::string judged_by(const LearnedEvidence& evidence) {
  if (evidence.held_back == 0) return " Their file does not say how far they are off: train them anew.";
  return fmt::format(
      " On {} calls held back lookups are off by {:.1f} % (nine of ten within {:.1f} %), and updates by {:.1f} % "
      "({:.1f} %).",
      evidence.held_back, evidence.forward.median_pct, evidence.forward.p90_pct, evidence.backward.median_pct,
      evidence.backward.p90_pct);
}

// Finds the features of one fused lookup that lie beyond the labels.
class LookupReach {
 public:
  LookupReach(const LearnedCosts& costs, const Program& program) : costs_(costs), program_(program) {}

  void add(const Op& op, std::set<std::string>& found) const {
    const LearnedRange& range = costs_.range();
    const auto tables = static_cast<double>(op.tables.size());
    note(found, op.name + " has ", beyond("tables", tables, range.tables_from, range.tables_to));
    for (std::size_t i = 0; i < op.tables.size(); ++i) {
      const auto columns = static_cast<double>(program_.shard(op.shards[i]).columns());
      const std::string table = fmt::format("table '{}' has ", program_.table_of(op.shards[i]).name);
      note(found, table, beyond("columns", columns, range.columns_from, range.columns_to));
      note(found, op.name + " has ", samples(op.tables[i].bags));
    }
  }

 private:
  static void note(std::set<std::string>& found, const std::string& whose, const std::string& what) {
    if (!what.empty()) found.insert(whose + what);
  }

  std::string samples(double bags) const {
    const std::int64_t one = costs_.setting().batch;
    return one > 0 ? beyond("samples", bags, one, one)
                   : beyond("samples", bags, costs_.range().batch_from, costs_.range().batch_to);
  }

  const LearnedCosts& costs_;
  const Program& program_;
};

// The calls of a Program for which the nets stray from the laws of the same kernels, on the ranks where they run: cut
// rows and several tables together are like nothing that single tables are.
class Strays {
 public:
  Strays(const LearnedCosts& costs, const PreparedCase& prepared)
      : costs_(costs), prepared_(prepared), laws_(laws_beside(costs)), facts_(prepared.program()) {}

  void add(const Op& op, std::set<std::string>& found) const {
    const bool is_lookup = op.op_class == OpClass::lookup;
    if (laws_ == nullptr || (!is_lookup && op.op_class != OpClass::update)) return;
    const ClusterSpec& spec = prepared_.cluster.spec();
    const std::size_t ranks = std::min(prepared_.program().ranks_of(op).size(), kJudgedRanks);
    const RowFacts::OfOp rows = facts_.of(op);
    for (std::size_t position = 0; position < ranks; ++position) {
      ComputeWork work = work_of(op, position, spec);
      work.rows = rows.at(position);
      work.tables = rows.tables_at(position);
      const bool is_summed = !is_lookup && (work.optimizer.empty() || work.optimizer == "none");
      if (work.tables.empty() || work.host_link.value > 0 || is_summed) continue;
      const ShardSeconds nets = seconds_by_nets(costs_, work.tables);
      const std::string text =
          stray_text(work.kind, op.name + " takes", nets.of(is_lookup), laws_->seconds(work, spec.gpu));
      if (text.empty()) continue;
      found.insert(text);
      return;
    }
  }

 private:
  static constexpr std::size_t kJudgedRanks = 64;

  const LearnedCosts& costs_;
  const PreparedCase& prepared_;
  const std::unique_ptr<ComputeModel> laws_;
  const RowFacts facts_;
};

std::set<std::string> learned_reach_of(const Known& known, const LearnedCosts& costs) {
  std::set<std::string> found;
  if (known.prepared == nullptr) {
    for (const std::string& text :
         beyond_labels(costs, known.item.workload, batch_of_all(known.item), known.item.cluster.gpu))
      found.insert(text);
    return found;
  }
  const Program& program = known.prepared->program();
  const LookupReach reach(costs, program);
  const Strays strays(costs, *known.prepared);
  for (const Op& op : program.ops) {
    if (!op.tables.empty() && op.op_class == OpClass::lookup) reach.add(op, found);
    strays.add(op, found);
  }
  return found;
}

std::string in_short(const std::set<std::string>& found) {
  std::vector<std::string> named(found.begin(), found.end());
  const std::size_t more = named.size() - std::min(named.size(), kNamedCalls);
  named.resize(named.size() - more);
  std::string text;
  for (const std::string& one : named) text += (text.empty() ? "" : "; ") + one;
  return more == 0 ? text : fmt::format("{}; {} more", text, more);
}

}  // namespace

Notes learned_note(const Known& known) {
  if (!is_learned(known.item.compute_model)) return {};
  const std::shared_ptr<const LearnedCosts> costs = learned_costs_of(known.item.compute_model);
  return {fmt::format(
      "Lookups and updates are predicted by nets that learned from labels ({}).{} Everything else, rows in host memory "
      "and sums of gradients included, is timed as by the compute model gpu_kernels.",
      taught_by(*costs), judged_by(costs->evidence()))};
}

Notes learned_reach_note(const Known& known) {
  if (!is_learned(known.item.compute_model)) return {};
  const std::shared_ptr<const LearnedCosts> costs = learned_costs_of(known.item.compute_model);
  const std::set<std::string> found = learned_reach_of(known, *costs);
  if (found.empty()) return {};
  return {fmt::format(
      "The nets of the compute model learned have seen nothing like this case, and nobody knows how far they are "
      "off: {}. Where both are further apart than on any label, the laws are taken, for the lookup and the update "
      "of the same tables together; compare with compute_model: {{name: gpu_kernels}}.",
      in_short(found))};
}

}  // namespace shardsim
