#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "base/text.h"
#include "models/workload/pool/table_pool.h"

namespace shardsim {
namespace {

constexpr const char* kHead =
    R"(# Made by: shardsim workload sample pool --seed {}
# A pool of tables like MetaSyn, the data of AutoShard (Zha et al., KDD 2022) and NeuroShard (Zha et al., MLSys 2023), of
# which no list is public. Published are, and met here: 856 tables; rows: at most 12,543,670, mean 4,107,458, at least 1;
# mean pooling factor: at most 193, mean 15, at least 0, as whole numbers (AutoShard, table 1); 887,017,990 lookups in a
# batch of 65,536 and 128,435,723 different rows among them, and by how often rows are met in a batch the shares of the
# rows and of the lookups (facebookresearch/dlrm_datasets, embedding_bag/2021, locality_stats.txt of
# fbgemm_t856_bs65536.pt). The shapes are guesses: rows by a power of the place, pooling factors log-normal and
# independent of the rows, different rows in proportion to the lookups. Which table is which says nothing. The table of
# one row has one lookup in a batch, as none cannot be simulated. weights are lookups of a row in a batch of 65,536;
# dims are those of tasks (shardsim workload sample tasks).
schema: shardsim.workload/1
name: metasyn_{}
summary: A pool of {} tables with the published figures of MetaSyn; shapes are guesses
batch_per_gpu: 65536
optimizer: {{name: sgd}}
tables:
)";

std::string table_line(const PoolTable& table, std::size_t index) {
  std::vector<std::uint64_t> rows;
  std::vector<std::string> weights;
  for (const AccessSpec::Step& step : table.steps) {
    rows.push_back(step.rows);
    weights.push_back(shortest(step.weight));
  }
  return fmt::format(
      "  - {{name: t{}, rows: {}, dim: 16, kind: pooled, pooling_factor: {}, access: {{family: steps, rows: [{}], "
      "weights: [{}]}}}}\n",
      index, table.rows, shortest(table.pooling()), fmt::join(rows, ", "), fmt::join(weights, ", "));
}

}  // namespace

std::string pool_to_yaml(const std::vector<PoolTable>& pool, std::uint64_t seed) {
  std::string text = fmt::format(kHead, seed, pool.size(), pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i) text += table_line(pool[i], i);
  return text;
}

}  // namespace shardsim
