#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "models/learned/label_sets.h"
#include "tests/models/workload_text.h"

// A pool of twenty tables, and labels of a made-up device for shards of it.

namespace shardsim {

inline Workload small_pool() {
  std::string yaml = "schema: shardsim.workload/1\nname: small\nbatch_per_gpu: 1024\noptimizer: {name: sgd}\ntables:\n";
  for (int i = 0; i < 20; ++i)
    yaml += fmt::format(
        "- {{name: t{0}, rows: {1}, dim: 64, kind: pooled, pooling_factor: {2}, access: {{family: zipf, s: {3}}}}}\n",
        i, 1000 * (i + 1) * (i + 1), 1 + i % 7, i % 2 == 0 ? 0.7 : 1.1);
  return parsed(yaml);
}

// A start, and in proportion to the elements that are read: what a roofline says of large shards.
inline ShardSeconds made_up_seconds(const Workload& workload, const Shard& shard) {
  double elements = 0;
  for (const ShardPiece& piece : shard)
    elements +=
        workload.tables[static_cast<std::size_t>(piece.table)].average_length * static_cast<double>(piece.columns);
  return {2e-5 + 1e-7 * elements, 5e-5 + 3e-7 * elements};
}

inline ShardSet labelled_shards(std::int64_t count, std::uint64_t seed = 1) {
  ShardLaw law;
  law.count = count;
  law.seed = seed;
  ShardSet set = draw_shards(small_pool(), 1024, law);
  set.provider = "made_up";
  set.device = "toy";
  for (std::size_t i = 0; i < set.shards.size(); ++i) set.labels[i] = made_up_seconds(set.workload, set.shards[i]);
  return set;
}

// All ranks wait for the last one, then for the widest.
inline ExchangeSet labelled_exchanges(std::int64_t count, int ranks) {
  ExchangeSet set = draw_exchanges(1024, {count, ranks, 128, 3});
  set.provider = "made_up";
  set.device = set.topology = "toy";
  for (std::size_t i = 0; i < set.exchanges.size(); ++i) {
    double widest = 0, last = 0;
    for (const double columns : set.exchanges[i].columns) widest = std::max(widest, columns);
    for (const double start : set.exchanges[i].starts_ms) last = std::max(last, start);
    ExchangeSeconds seconds;
    for (const double start : set.exchanges[i].starts_ms)
      seconds.forward.push_back(1e-3 * (last - start) + 1e-5 * widest);
    seconds.backward.assign(seconds.forward.size(), 1e-5 * widest);
    set.labels[i] = seconds;
  }
  return set;
}

}  // namespace shardsim
