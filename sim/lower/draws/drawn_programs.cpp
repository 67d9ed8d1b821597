#include "sim/lower/draws/drawn_programs.h"

#include <algorithm>

#include "sim/lower/known_shares.h"

namespace shardsim {
namespace {

// Shares of owners are found once for all iterations.
LoweringOptions with_known_shares(LoweringOptions options) {
  if (!options.known) options.known = std::make_shared<KnownShares>();
  options.drawn = nullptr;
  return options;
}

// Puts what an operation of `from` moves into `program`, which has the same operations.
void take_sizes(Program& program, const Program& from, std::size_t op) {
  program.ops[op] = from.ops[op];
  const MatrixUse& use = from.ops[op].matrix;
  if (use.empty()) return;
  const std::size_t sets = use.per_set ? from.groups.at(from.ops[op].group).size() : 1;
  for (std::size_t set = 0; set < sets; ++set) {
    const auto index = static_cast<std::size_t>(use.of_set(set));
    program.matrices[index] = from.matrices[index];
  }
}

}  // namespace

DrawnPrograms::DrawnPrograms(const Plan& plan, const Workload& workload, const Cluster& cluster,
                             const LoweringOptions& options)
    : plan_(plan),
      workload_(workload),
      cluster_(cluster),
      options_(with_known_shares(options)),
      expected_(lower(plan, workload, cluster, options_)),
      maker_(plan, workload, expected_, options_) {
  for (const Op& op : expected_.ops) ahead_ = std::max(ahead_, op.batches_ahead);
}

const Program& DrawnPrograms::of_batch(std::int64_t batch) const {
  const auto known = by_batch_.find(batch);
  if (known != by_batch_.end()) return known->second;
  const DrawnBatch drawn = maker_.draw(batch);
  LoweringOptions options = options_;
  options.drawn = &drawn;
  return by_batch_.emplace(batch, lower(plan_, workload_, cluster_, options)).first->second;
}

Program DrawnPrograms::at(std::int64_t iteration) const {
  by_batch_.erase(by_batch_.begin(), by_batch_.lower_bound(iteration));
  Program program = of_batch(iteration);
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const int ahead = program.ops[op].batches_ahead;
    if (ahead > 0) take_sizes(program, of_batch(iteration + ahead), op);
  }
  by_batch_.erase(by_batch_.begin(), by_batch_.upper_bound(iteration));
  return program;
}

}  // namespace shardsim
