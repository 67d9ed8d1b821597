#include "sim/lower/draws/drawn_batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "program/program.h"
#include "sim/lower/group_member.h"
#include "sim/lower/known_shares.h"
#include "sim/lower/touched_rows.h"

namespace shardsim {
namespace {

// Items per sample in these rows; with the observed payload the observed ones.
double items_of_sample(const Table& table, std::uint64_t first, std::uint64_t end, bool observed) {
  const AccessDistribution access = table.distribution();
  return observed && table.runtime ? table.runtime->sum(access, first, end) : access.sum(first, end);
}

std::vector<BagFeature> bag_features(const Table& table, std::int64_t batch, double stretch) {
  std::vector<BagFeature> features;
  for (const Feature& feature : table.features) {
    features.push_back({feature.pooling_factor * stretch, half_up(static_cast<double>(batch) * feature.num_poolings)});
  }
  return features;
}

// Returns the shares of the lookups of one placement, by owner; rows that are replicated on all ranks are one cell.
std::vector<double> cell_shares(const GroupMember& member) {
  if (member.placement->strategy == Strategy::data_parallel) return {1.0};
  std::vector<double> shares = member.shares_of_occurrences();
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= all;
  return shares;
}

void add_items(RankItems& items, int table, std::int64_t more) {
  items.all += static_cast<double>(more);
  items.of_table[static_cast<std::size_t>(table)] += static_cast<double>(more);
}

// Ranks whose ids an owner looks up.
double sources_of(const GroupMember& member, int world) {
  const Strategy strategy = member.placement->strategy;
  if (strategy == Strategy::data_parallel) return 1;
  return strategy == Strategy::flex ? static_cast<double>(member.placement->holders.front().size()) : world;
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

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

std::int64_t CellCounts::sent(int rank) const {
  const auto first = counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * cells);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(cells), std::int64_t{0});
}

double DrawnRows::touched(std::size_t owner, double lookups) const {
  return drawn_distinct(at_.touched[owner], more_.touched[owner], lookups_[owner], lookups);
}

double DrawnRows::missed(std::size_t owner, double lookups) const {
  return drawn_distinct(at_.missed[owner], more_.missed[owner], lookups_[owner], lookups);
}

double DrawnRows::on_ssd(std::size_t owner, double lookups) const {
  return drawn_distinct(at_.on_ssd[owner], more_.on_ssd[owner], lookups_[owner], lookups);
}

BatchMaker::BatchMaker(const Plan& plan, const Workload& workload, const Program& expected,
                       const LoweringOptions& options)
    : plan_(plan), workload_(workload), options_(options), world_(expected.world_size) {
  KnownShares own;
  KnownShares& known = options.known ? *options.known : own;
  const std::vector<RowCaches> caches = row_caches(plan.placements, workload);
  std::vector<std::vector<double>> shares;  // [placement][cell], of the table's ids
  for (std::size_t index = 0; index < plan.placements.size(); ++index) {
    const Placement& placement = plan.placements[index];
    const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
    const GroupMember member =
        make_member(static_cast<int>(index), placement, caches[index], workload, expected, options, known);
    const double items = items_of_sample(table, placement.row_begin, placement.row_end, options.observed_payload);
    const std::vector<double> owners = cell_shares(member);
    shares.push_back(scaled(owners, items));
    cells_.push_back(owners.size());
    const double of_rank = items * static_cast<double>(workload.batch_per_gpu);
    rows_.push_back(drawn_rows(member, owners, of_rank * sources_of(member, world_)));
    different_.push_back(table.index_dedup ? drawn_rows(member, owners, of_rank) : nullptr);
  }
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    tables_.push_back(drawn_table(static_cast<int>(table), shares));
  }
}

BatchMaker::DrawnTable BatchMaker::drawn_table(int index, const std::vector<std::vector<double>>& shares) const {
  const Table& table = workload_.tables[static_cast<std::size_t>(index)];
  std::vector<std::size_t> of_table;
  for (std::size_t placement = 0; placement < plan_.placements.size(); ++placement) {
    if (plan_.placements[placement].table == index) of_table.push_back(placement);
  }
  std::ranges::sort(of_table, {}, [&](std::size_t placement) {
    return std::pair(plan_.placements[placement].column_begin, plan_.placements[placement].row_begin);
  });
  const double per_sample = items_of_sample(table, 0, table.rows, options_.observed_payload);
  const std::int64_t batch = workload_.batch_per_gpu;
  DrawnTable drawn{BatchDraws(table.name, options_.load.seed, world_, table.lengths,
                              bag_features(table, batch, per_sample / table.distribution().total()),
                              half_up(static_cast<double>(batch) * per_sample), table.place),
                   {}};
  std::int64_t column = -1;
  for (const std::size_t placement : of_table) {
    if (drawn.blocks.empty() || plan_.placements[placement].column_begin != column) drawn.blocks.emplace_back();
    column = plan_.placements[placement].column_begin;
    Block& block = drawn.blocks.back();
    block.placements.push_back(placement);
    block.shares.insert(block.shares.end(), shares[placement].begin(), shares[placement].end());
  }
  return drawn;
}

std::vector<FactorSums> BatchMaker::factors_of(std::int64_t iteration) const {
  std::vector<FactorSums> factors;
  for (int rank = 0; workload_.sample_factor && rank < world_; ++rank) {
    factors.push_back(
        factor_sums(*workload_.sample_factor, workload_.batch_per_gpu, options_.load.seed, {iteration, rank, world_}));
  }
  return factors;
}

DrawnBatch BatchMaker::draw(std::int64_t iteration) const {
  DrawnBatch batch;
  batch.items.assign(static_cast<std::size_t>(world_), {0, std::vector<double>(tables_.size(), 0.0)});
  for (std::size_t placement = 0; placement < cells_.size(); ++placement) {
    const CellCounts none(world_, cells_[placement]);
    batch.placements.push_back({none, none, rows_[placement], {}});
  }
  const std::vector<FactorSums> factors = factors_of(iteration);
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    draw_table(static_cast<int>(table), iteration, factors, batch);
  }
  remove_duplicates(batch);
  return batch;
}

// Each rank keeps the different ones of its ids, as many as are expected of so many; what rounding takes from one owner
// the next one gets.
void BatchMaker::remove_duplicates(DrawnBatch& batch) const {
  for (std::size_t placement = 0; placement < different_.size(); ++placement) {
    if (!different_[placement]) continue;
    DrawnPlacement& drawn = batch.placements[placement];
    drawn.with_duplicates = drawn.ids;
    double left = 0;
    for (std::size_t at = 0; at < drawn.ids.counts.size(); ++at) {
      const std::size_t owner = at % drawn.ids.cells;
      std::int64_t& ids = drawn.ids.counts[at];
      if (owner == 0) left = 0;
      left += different_[placement]->touched(owner, static_cast<double>(ids));
      ids = std::clamp<std::int64_t>(half_up(left), 0, ids);
      left -= static_cast<double>(ids);
    }
  }
}

// Blocks of columns are asked for the same ids: those that cut the rows alike get the same numbers, since the draws are
// the same.
void BatchMaker::draw_table(int index, std::int64_t iteration, const std::vector<FactorSums>& factors,
                            DrawnBatch& batch) const {
  const Table& table = workload_.tables[static_cast<std::size_t>(index)];
  const auto& [draws, blocks] = tables_[static_cast<std::size_t>(index)];
  for (int rank = 0; rank < world_; ++rank) {
    const FactorSums* const stretched = factors.empty() ? nullptr : &factors[static_cast<std::size_t>(rank)];
    for (std::size_t feature = 0; feature < draws.features(); ++feature) {
      const std::int64_t ids = draws.ids(feature, iteration, rank, stretched);
      if (table.kind == TableKind::sequence) add_items(batch.items[static_cast<std::size_t>(rank)], index, ids);
      std::vector<std::int64_t> cells;
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        const bool as_before = block > 0 && blocks[block].shares == blocks[block - 1].shares;
        if (!as_before) cells = draws.cells(feature, iteration, rank, ids, blocks[block].shares);
        std::size_t cell = 0;
        for (const std::size_t placement : blocks[block].placements) {
          DrawnPlacement& to = batch.placements[placement];
          const std::size_t first = static_cast<std::size_t>(rank) * to.ids.cells;
          for (std::size_t owner = 0; owner < to.ids.cells; ++owner, ++cell) {
            to.ids.counts[first + owner] += cells[cell];
            if (table.features[feature].weighted) to.weights.counts[first + owner] += cells[cell];
          }
        }
      }
    }
  }
}

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
