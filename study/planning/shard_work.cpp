#include "study/planning/shard_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "models/collective/collective_prediction.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

constexpr std::int64_t kVectorElement = 4;  // bytes

bool is_row_work(const LoadStep& step) {
  return !step.collective && step.work.kind != ComputeWork::Kind::dense;
}

double of_first_rank(const std::vector<double>& amounts) {
  return amounts.empty() ? 0 : amounts.front();
}

std::int64_t share_of(std::int64_t batch, int ranks) {
  if (batch % ranks == 0) return batch / ranks;
  throw input_error(
      {"batch"}, fmt::format("{} ranks cannot share {} samples evenly", ranks, batch),
      "Give cost-model sample a --batch that is a multiple of the number of ranks, or take another number of --nodes");
}

Seconds time_of(const ByteMatrix& matrix, int ranks, const Cluster& cluster) {
  CollectiveQuestion question;
  question.kind = CollectiveKind::all_to_all;
  question.matrix = &matrix;
  question.ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(question.ranks.begin(), question.ranks.end(), 0);
  return predict_collective(question, cluster).time;
}

}  // namespace

void ShardWork::add(const PlacementLoad& load) {
  for (const LoadStep& step : load.steps) {
    if (!is_row_work(step)) continue;
    ComputeWork& work = ops_.try_emplace(step.key, step.work).first->second;
    work.hbm_bytes += of_first_rank(step.hbm_bytes);
    work.lookups += of_first_rank(step.lookups);
    work.tables.insert(work.tables.end(), step.tables.begin(), step.tables.end());
    work.host_link = work.host_link + Seconds{of_first_rank(step.host_seconds)};
    work.sorted_update = work.kind == ComputeWork::Kind::update && work.lookups > 0;
  }
}

ShardSeconds ShardWork::seconds(const ComputeModel& compute, const GpuSpec& gpu) const {
  ShardSeconds sum;
  for (const auto& [key, work] : ops_) {
    double& part = work.kind == ComputeWork::Kind::lookup ? sum.forward : sum.backward;
    part += compute.seconds(work, gpu).value;
  }
  return sum;
}

ComputeWork ShardWork::merged(ComputeWork::Kind kind) const {
  ComputeWork sum;
  sum.kind = kind;
  for (const auto& [key, work] : ops_) {
    if (work.kind != kind) continue;
    sum.hbm_bytes += work.hbm_bytes;
    sum.lookups += work.lookups;
    sum.optimizer = work.optimizer;
    sum.sorted_update = sum.sorted_update || work.sorted_update;
    sum.tables.insert(sum.tables.end(), work.tables.begin(), work.tables.end());
  }
  return sum;
}

ShardWorks::ShardWorks(const Workload& workload, std::int64_t batch, const Cluster& cluster, bool by_table)
    : workload_(workload), cluster_(cluster), by_table_(by_table) {
  workload_.batch_per_gpu = share_of(batch, cluster.world_size());
}

ShardWork ShardWorks::of(const Shard& shard) {
  ShardWork work;
  for (const ShardPiece& piece : shard) work.add(load_of(piece));
  return work;
}

const PlacementLoad& ShardWorks::load_of(const ShardPiece& piece) {
  const auto [found, is_new] = loads_.try_emplace(piece);
  if (!is_new) return found->second;
  Table& table = workload_.tables.at(static_cast<std::size_t>(piece.table));
  table.dim = piece.columns;
  LoweringOptions options;
  options.row_tables = by_table_;
  found->second =
      placement_load(whole_table(piece.table, table, Strategy::table_wise, {{0}}), workload_, cluster_, options);
  return found->second;
}

ExchangeSeconds closed_form_exchange(const Exchange& exchange, std::int64_t batch, const Cluster& cluster) {
  const int ranks = static_cast<int>(exchange.columns.size());
  if (cluster.world_size() < ranks)
    throw input_error(
        {"cluster"},
        fmt::format("the cluster has {} GPUs, but the exchanges are between {}", cluster.world_size(), ranks),
        "Take more nodes (--nodes), or a cluster with more GPUs");
  ByteMatrix matrix{ByteMatrix::Kind::by_source, kVectorElement * share_of(batch, ranks), {}, {}, false};
  for (const double columns : exchange.columns) matrix.units.push_back(ranks * static_cast<std::int64_t>(columns));
  const double forward = time_of(matrix, ranks, cluster).value;
  matrix.transposed = true;
  const double last = std::ranges::max(exchange.starts_ms);
  ExchangeSeconds seconds;
  for (const double start : exchange.starts_ms) seconds.forward.push_back((last - start) * 1e-3 + forward);
  seconds.backward.assign(exchange.columns.size(), time_of(matrix, ranks, cluster).value);
  return seconds;
}

}  // namespace shardsim
