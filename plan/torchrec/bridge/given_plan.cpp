#include "plan/torchrec/bridge/given_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "plan/torchrec/bridge/choice.h"

namespace shardsim::torchrec {
namespace {

// Placements of one table that are one option: the slices of a table, or one tier.
using Part = std::vector<const Placement*>;

std::vector<Part> parts_of(const Plan& plan) {
  std::vector<Part> parts;
  for (const Placement& placement : plan.placements) {
    const auto same = [&](auto member) { return parts.back().front()->*member == placement.*member; };
    const bool slice = !parts.empty() && in_columns(placement.strategy) && same(&Placement::table) &&
                       same(&Placement::strategy) && same(&Placement::row_begin);
    if (!slice) parts.emplace_back();
    parts.back().push_back(&placement);
  }
  return parts;
}

void shrink_to(GivenTable& given, const Placement& part, const Table& whole) {
  if (part.row_begin == 0 && part.row_end == whole.rows) return;
  const AccessDistribution access = whole.distribution();
  const double share = access.sum(part.row_begin, part.row_end) / access.total();
  given.table.rows = static_cast<std::int64_t>(part.rows());
  for (double& factor : given.table.pooling_factors) factor *= share;
  given.option.tier = {part.row_begin, part.row_end};
}

// The runs of one list of holders, in the order of its ranks.
std::vector<ShardRun> runs_of(const Placement& placement, int ranks) {
  const auto rows = static_cast<std::int64_t>(placement.rows());
  std::vector<ShardRun> runs;
  if (in_rows(placement.strategy)) {
    runs = even_rows(rows, placement.columns(), ranks);
  } else {
    runs.emplace_back();
    runs.back().count = ranks;
    runs.back().rows = rows;
    runs.back().cols = placement.columns();
  }
  for (ShardRun& run : runs) run.col_offset = placement.column_begin;
  return runs;
}

void cut(GivenTable& given, const Part& part) {
  for (const Placement* placement : part) {
    for (const std::vector<int>& ranks : placement->holders) {
      for (const ShardRun& run : runs_of(*placement, static_cast<int>(ranks.size()))) given.option.runs.push_back(run);
      given.ranks.insert(given.ranks.end(), ranks.begin(), ranks.end());
    }
  }
}

// Where none is given, or 0, TorchRec's default.
double cache_share(const ShardingOption& option, const TableSpec& spec) {
  const double given = option.load_factor.value_or(spec.sharder_cache_load_factor.value_or(0));
  return given > 0 ? given : kCacheLoadFactor;
}

// The rows of a bucket, for shards that hold unequal numbers of buckets; equal ones are even shares of rows.
std::uint64_t bucket_rows_of(const ShardingOption& option, const TableSpec& spec) {
  const bool buckets = option.type == ShardingType::row_wise && spec.num_buckets > 0 && !spec.managed_collision;
  if (!buckets || spec.num_buckets % option.shards == 0) return 1;
  return static_cast<std::uint64_t>(spec.rows / spec.num_buckets);
}

// The whole table: the ranks share its rows evenly (a block of TorchRec's differs by less than a block).
Placement blank(const ShardingOption& option, const TableSpec& spec, std::size_t table) {
  Placement placement;
  placement.table = static_cast<int>(table);
  placement.strategy = option.type;
  placement.compute_kernel = name_of(option.kernel);
  if (has_cache(placement.compute_kernel)) placement.cache_load_factor = cache_share(option, spec);
  if (in_key_value_store(placement.compute_kernel)) {
    if (spec.max_l1_cache_mb > 0) placement.most_l1 = Bytes{std::llround(spec.max_l1_cache_mb * 0x1p20)};
    placement.l2 = spec.l2_cache;
  }
  placement.holders = {{}};
  placement.bucket_rows = bucket_rows_of(option, spec);
  placement.row_end = static_cast<std::uint64_t>(spec.rows);
  placement.column_end = spec.dim;
  return placement;
}

// One placement per column block, which all its shards hold.
void add_blocks(std::vector<Placement>& placements, const ShardingOption& option, const Placement& whole,
                std::span<const int> ranks) {
  std::size_t shard = 0;
  for (const ShardRun& run : option.runs) {
    for (int i = 0; i < run.count; ++i, ++shard) {
      const std::int64_t column = run.col_offset_of(i);
      const bool shared = in_rows(whole.strategy) || replicated(whole.strategy);
      const bool same_block = shared && !placements.empty() && placements.back().table == whole.table &&
                              placements.back().column_begin == column;
      if (!same_block) {
        placements.push_back(whole);
        placements.back().column_begin = column;
        placements.back().column_end = column + run.cols;
      }
      placements.back().holders.front().push_back(ranks[shard]);
    }
  }
}

}  // namespace

std::vector<GivenTable> given_tables(const Plan& plan, const Workload& workload, const PlannerRequest& request,
                                     const std::vector<Place>& entries) {
  std::map<std::size_t, const TableSpec*> specs;
  for (std::size_t i = 0; i < request.order.size(); ++i) specs[request.order[i]] = &request.tables[i].table;
  std::vector<GivenTable> tables;
  for (const Part& part : parts_of(plan)) {
    const Placement& first = *part.front();
    GivenTable given;
    given.table = *specs.at(static_cast<std::size_t>(first.table));
    shrink_to(given, first, workload.tables.at(static_cast<std::size_t>(first.table)));
    if (const auto module = plan.modules.find(first.table); module != plan.modules.end()) {
      given.table.module = module->second;
    }
    given.option.flex = first.strategy == Strategy::flex;  // which TorchRec does not know: on each node the type below
    given.option.type = given.option.flex ? ShardingType::table_row_wise : first.strategy;
    given.option.kernel = parse_compute_kernel(first.compute_kernel, {"compute kernel of the plan"});
    given.option.partition = partition_by(given.option.type);
    if (has_cache(first.compute_kernel)) given.table.cache_load_factor = first.cache_load_factor;
    given.option.load_factor = given.table.cache_load_factor;
    if (first.most_l1) given.table.max_l1_cache_mb = static_cast<double>(first.most_l1->count) / 0x1p20;
    given.table.l2_cache = first.l2;
    given.option.table = static_cast<int>(tables.size());
    cut(given, part);
    try {
      estimate_shards(given.option, given.table, request.settings.topology, request.settings.estimate);
    } catch (const PlannerError& error) {
      const std::string what = error.what();
      const std::string table = what.starts_with("table ") ? "" : fmt::format("table '{}': ", given.table.name);
      const Place place = entries.empty() ? Place{} : entries.at(static_cast<std::size_t>(first.table));
      throw input_error(place, table + what, "Choose another compute kernel in the plan");
    }
    tables.push_back(std::move(given));
  }
  return tables;
}

RunResult rated_run(const Plan& plan, const Workload& workload, const PlannerRequest& request,
                    const std::vector<Place>& entries) {
  RunResult run;
  run.found = true;
  for (GivenTable& given : given_tables(plan, workload, request, entries)) {
    run.space.tables.push_back(std::move(given.table));
    run.plan.push_back(std::move(given.option));
    run.assignment.add(given.ranks);
  }
  const Proposal proposal = proposal_of(run.plan);
  run.rating = perf_rating(proposal, run.assignment, request.settings.topology.world_size);
  return run;
}

RunResult given_run(const Plan& plan, const Workload& workload, const PlannerRequest& request,
                    const std::vector<Place>& entries) {
  Reservation reservation = reservation_of(request);
  RunResult run = rated_run(plan, workload, request, entries);
  run.reservation = std::move(reservation);
  return run;
}

Plan plan_of(const std::vector<ShardingOption>& options, const Assignment& assignment, const SearchSpace& space,
             const std::vector<std::size_t>& order, std::uint64_t seed) {
  Plan plan;
  plan.hash_seed = seed;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const ShardingOption& option = options[i];
    const Placement whole = blank(option, space.table_of(option), order.at(static_cast<std::size_t>(option.table)));
    add_blocks(plan.placements, option, whole, assignment.of(i));
  }
  std::stable_sort(plan.placements.begin(), plan.placements.end(), [](const Placement& a, const Placement& b) {
    return std::tie(a.table, a.row_begin, a.column_begin) < std::tie(b.table, b.row_begin, b.column_begin);
  });
  return plan;
}

}  // namespace shardsim::torchrec
