#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "models/collective/collective.h"
#include "plan/memory_model.h"
#include "study/drift/drift_study.h"

namespace shardsim {
namespace {

constexpr int kDenseMoves = 256;  // ranks up to which every pair is counted

// [rank] the share of a row that it holds.
std::vector<double> holdings(const Placement& placement, std::size_t ranks) {
  std::vector<double> held(ranks);
  for (const std::vector<int>& group : placement.holders)
    for (const int rank : group) held[static_cast<std::size_t>(rank)] = 1.0 / placement.shards();
  return held;
}

double overlap(double begin, double end, double other_begin, double other_end) {
  return std::max(0.0, std::min(end, other_end) - std::max(begin, other_begin));
}

// Bytes of the rows that are in one placement before and in another one after.
double bytes_of_both(const Placement& from, const Placement& to, const Table& table, const std::string& optimizer,
                     double stays) {
  const auto real = [](auto number) { return static_cast<double>(number); };
  const auto columns = static_cast<std::int64_t>(
      overlap(real(from.column_begin), real(from.column_end), real(to.column_begin), real(to.column_end)));
  if (columns == 0) return 0;
  const double same = overlap(real(from.row_begin), real(from.row_end), real(to.row_begin), real(to.row_end));
  const double any = real(from.rows()) * real(to.rows()) / real(table.rows);
  const double rows = stays * same + (1 - stays) * any;
  return rows * real(columns * dtype_bytes(table.dtype) + optimizer_row_bytes(optimizer, columns));
}

}  // namespace

double MovedBytes::all() const {
  return std::accumulate(to.begin(), to.end(), 0.0);
}

MovedBytes moved_bytes(const Plan& from, const Plan& to, const Workload& workload, double stays, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  MovedBytes moved;
  moved.to.resize(count);
  if (ranks <= kDenseMoves) moved.pairs.assign(count, std::vector<double>(count, 0.0));
  for (const Placement& before : from.placements) {
    for (const Placement& after : to.placements) {
      if (before.table != after.table) continue;
      const Table& table = workload.tables[static_cast<std::size_t>(before.table)];
      const double bytes = bytes_of_both(before, after, table, workload.optimizer, stays);
      if (bytes <= 0) continue;
      const std::vector<double> held = holdings(before, count), wanted = holdings(after, count);
      const double all = std::accumulate(held.begin(), held.end(), 0.0);
      for (std::size_t rank = 0; rank < count; ++rank) {
        const double more = wanted[rank] - held[rank], others = all - held[rank];
        if (more <= 0 || others <= 0) continue;
        moved.to[rank] += bytes * more;
        for (std::size_t source = 0; source < moved.pairs.size(); ++source)
          if (source != rank) moved.pairs[source][rank] += bytes * more * held[source] / others;
      }
    }
  }
  return moved;
}

double moving_seconds(const MovedBytes& moved, const Cluster& cluster) {
  const int ranks = cluster.world_size();
  if (moved.all() < 1 || ranks < 2) return 0;
  const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::llround(bytes)); };
  ByteMatrix matrix;
  matrix.kind = moved.pairs.empty() ? ByteMatrix::Kind::by_destination : ByteMatrix::Kind::dense;
  for (const std::vector<double>& line : moved.pairs) {
    std::vector<std::int64_t>& of_source = matrix.dense.emplace_back();
    std::ranges::transform(line, std::back_inserter(of_source), whole);
  }
  if (moved.pairs.empty())
    for (const double bytes : moved.to) matrix.units.push_back(whole(bytes / ranks));
  const std::vector<int> all = all_ranks(ranks);
  return expand_collective({CollectiveKind::all_to_all, all, &matrix, 0}, cluster, "auto").alone(cluster).value;
}

}  // namespace shardsim
