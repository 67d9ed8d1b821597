#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "base/tree/yaml.h"
#include "plan/plan_entries.h"
#include "plan/plan_file.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

// A cluster with that many ranks and nothing to choose: one GPU a node.
constexpr const char* kWorld = R"(
schema: shardsim.cluster/1
name: of_the_plan
nodes: {}
device: {}
gpu: {{model: unknown, count: 1, compute_capability: "8.0", hbm: "1 B", hbm_bandwidth: "1 GB/s", flops: {{fp32: "1 GFLOP/s"}}}}
nics: {{per_gpu: 1, rate: "1 GB/s"}}
)";

// Shards of columns may name a rank twice, so a list is no set; what is not in order is refused where it is read.
int highest_rank(const Tree& set) {
  if (set.kind == Tree::Kind::list) {
    std::int64_t highest = 0;
    for (const Tree& rank : set.items) {
      const std::int64_t number = read_whole_number(rank);
      if (number >= kMostRanks)
        throw input_error(rank.place, fmt::format("rank {} is outside the world", number),
                          fmt::format("Ranks go from 0 to {}", kMostRanks - 1));
      highest = std::max(highest, number);
    }
    return static_cast<int>(highest);
  }
  const std::vector<int> ranks = read_rank_set(set, kMostRanks);
  return ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end());
}

// [row, column] end of one shard.
void extend(Table& table, const Tree& shard) {
  const Tree* offsets = shard.find("shard_offsets");
  const Tree* sizes = shard.find("shard_sizes");
  if (!offsets || !sizes || offsets->items.size() != 2 || sizes->items.size() != 2) return;
  const auto end = [&](std::size_t i) {
    return read_whole_number(offsets->items[i]) + read_whole_number(sizes->items[i]);
  };
  table.rows = std::max(table.rows, static_cast<std::uint64_t>(end(0)));
  table.dim = std::max(table.dim, end(1));
}

// The world that a file speaks of: its tables at the size it gives them, and as many ranks as it names.
class World {
 public:
  World(const Tree& tree, int world_size) : world_size_(world_size) {
    workload_.batch_per_gpu = 1;
    const Tree* modules = tree.find("plan");
    if (modules == nullptr)
      throw input_error(tree.place, "the key 'plan' is missing", "A plan file maps module paths to tables there");
    std::map<std::string, int> count;
    for (const auto& [path, tables] : modules->fields) {
      for (const auto& [name, entry] : tables.fields) ++count[name];
    }
    for (const auto& [path, tables] : modules->fields) {
      for (const auto& [name, entry] : tables.fields) add(count[name] > 1 ? path + "." + name : name, entry);
    }
  }

  Cluster cluster() const {
    return Cluster(read_cluster(parse_yaml(fmt::format(kWorld, ranks(), cpus() ? "cpu" : "cuda"), "plan")));
  }
  const Workload& workload() const { return workload_; }
  const std::vector<int>& unsized() const { return unsized_; }
  int ranks() const { return world_size_ > 0 ? world_size_ : highest_rank_ + 1; }
  bool cpus() const {
    return cpu_shards_ > 0 && cpu_shards_ == shards_;
  }  // of a cluster of CPUs, which has nothing else
  // On several hosts, ranks and devices differ by whole hosts. Placements on a single one do not say how many GPUs it
  // has, where replicated tables are on more ranks: as many as usual, if these hold the placed ones.
  int ranks_per_host() const {
    if (host_multiple_ == 0) {
      const int usual = cpus() ? 1 : usual_host(ranks());
      if (usual > highest_device_) return usual;
      return ranks() % (highest_device_ + 1) == 0 ? highest_device_ + 1 : ranks();
    }
    int gpus = highest_device_ + 1;
    while (gpus <= host_multiple_ && host_multiple_ % gpus != 0) ++gpus;
    return gpus <= host_multiple_ ? gpus : ranks();
  }
  int highest_device() const { return highest_device_; }
  int host_multiple() const { return host_multiple_; }

 private:
  void add(const std::string& name, const Tree& entry) {
    Table table;
    table.name = name;
    table.place = entry.place;
    table.kind = TableKind::pooled;
    table.features = {{name, 1, 1, false}};
    table.average_length = 1;
    if (const Tree* rows = entry.find("rows")) table.rows = static_cast<std::uint64_t>(read_whole_number(*rows));
    if (const Tree* dim = entry.find("dim")) table.dim = read_whole_number(*dim);
    if (const Tree* shards = entry.find("shards")) {
      for (const Tree& shard : shards->items) {
        extend(table, shard);
        if (const Tree* placement = shard.find("placement")) note_device(placement->scalar);
      }
    }
    note_ranks(entry);
    if (const Tree* tiers = entry.find("tiers")) {
      for (const Tree& tier : tiers->items) note_ranks(tier);
    }
    if (table.rows == 0) unsized_.push_back(static_cast<int>(workload_.tables.size()));
    table.rows = std::max<std::uint64_t>(table.rows, 1);
    table.dim = std::max<std::int64_t>(table.dim, 1);
    workload_.tables.push_back(table);
  }

  void note_ranks(const Tree& entry) {
    if (const Tree* ranks = entry.find("ranks")) highest_rank_ = std::max(highest_rank_, highest_rank(*ranks));
    if (const Tree* groups = entry.find("replica_groups")) {
      for (const Tree& group : groups->items) highest_rank_ = std::max(highest_rank_, highest_rank(group));
    }
  }

  // "rank:9/cuda:1" speaks of a host with a device 1; other texts are refused later.
  void note_device(const std::string& placement) {
    ++shards_;
    if (placement.ends_with("/cpu")) ++cpu_shards_;
    const std::size_t colon = placement.rfind(':');
    if (placement.find("/cuda:") == std::string::npos || placement.size() - colon > 5) return;
    int number = 0;
    const char* const last = placement.data() + placement.size();
    if (std::from_chars(placement.data() + colon + 1, last, number).ptr != last || number < 0) return;
    highest_device_ = std::max(highest_device_, number);
    constexpr std::string_view kRank = "rank:";
    int rank = 0;
    if (placement.starts_with(kRank) &&
        std::from_chars(placement.data() + kRank.size(), last, rank).ec == std::errc() && rank >= number)
      host_multiple_ = std::gcd(host_multiple_, rank - number);
  }

  Workload workload_;
  int world_size_;  // 0: as many ranks as are named
  int highest_rank_ = 0;
  int highest_device_ = 0;
  int host_multiple_ = 0;
  int shards_ = 0, cpu_shards_ = 0;
  std::vector<int> unsized_;
};

}  // namespace

int usual_host(int ranks) {
  int gpus = std::min(ranks, kUsualGpus);
  while (ranks % gpus != 0) --gpus;
  return gpus;
}

StandalonePlan standalone_plan(const Tree& tree) {
  return standalone_plan(tree, 0);
}

StandalonePlan standalone_plan(const Tree& tree, int world_size) {
  const World world(tree, world_size);
  const Cluster cluster = world.cluster();
  return {.tables = static_cast<int>(world.workload().tables.size()),
          .ranks = world.ranks(),
          .ranks_per_host = world.ranks_per_host(),
          .highest_device = world.highest_device(),
          .host_multiple = world.host_multiple(),
          .cpus = world.cpus(),
          .plan = checked_plan(tree, world.workload(), cluster, false),
          .workload = world.workload(),
          .unsized = world.unsized()};
}

}  // namespace shardsim
