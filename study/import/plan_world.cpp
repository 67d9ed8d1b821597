#include "study/import/plan_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"

namespace shardsim {
namespace {

// "rank:9/cuda:1".
struct PlacedOn {
  int rank = 0, device = 0;
};

std::optional<int> small_count(std::string_view text) {
  const std::optional<int> number = whole_number<int>(text);
  return number.value_or(-1) < 0 ? std::nullopt : number;
}

std::optional<PlacedOn> placed_on(const Tree* placement) {
  constexpr std::string_view kRank = "rank:", kDevice = "/cuda:";
  if (placement == nullptr) return std::nullopt;
  const std::string_view text = placement->scalar;
  const std::size_t slash = text.find('/');
  if (!text.starts_with(kRank) || slash == std::string_view::npos || !text.substr(slash).starts_with(kDevice))
    return std::nullopt;
  const auto rank = small_count(text.substr(kRank.size(), slash - kRank.size()));
  const auto device = small_count(text.substr(slash + kDevice.size()));
  if (!rank || !device) return std::nullopt;
  return PlacedOn{*rank, *device};
}

std::vector<int> ranks_of_entry(const Tree& entry) {
  std::vector<int> ranks;
  const Tree* const list = entry.find("ranks");
  if (list == nullptr) return ranks;
  for (const Tree& item : list->items)
    if (const auto rank = small_count(item.scalar)) ranks.push_back(*rank);
  return ranks;
}

// Calls `visit` with the name and the entry of every table.
template <typename Map>
void for_entries(Map& plan, const auto& visit) {
  auto* const modules = plan.find("plan");
  if (modules == nullptr) return;
  for (auto& [module, tables] : modules->fields)
    for (auto& [table, entry] : tables.fields) visit(table, entry);
}

const std::string& type_of(const Tree& entry) {
  static const std::string none;
  const Tree* const type = entry.find("sharding_type");
  return type == nullptr ? none : type->scalar;
}

// GPUs of a host: rank and device differ by whole hosts.
int gpus_of_host(const Tree& plan) {
  int gap = 0, top = -1;
  for_entries(plan, [&](const std::string&, const Tree& entry) {
    const Tree* const shards = entry.find("shards");
    if (shards == nullptr) return;
    for (const Tree& shard : shards->items) {
      const auto on = placed_on(shard.find("placement"));
      if (!on || on->rank < on->device) continue;
      gap = std::gcd(gap, on->rank - on->device);
      top = std::max(top, on->device);
    }
  });
  if (gap == 0 || gap <= top) return 0;
  int gpus = top + 1;
  while (gap % gpus != 0) ++gpus;
  return gpus;
}

// True for ranks that rise in equal steps.
bool in_steps(const std::vector<int>& ranks, int& step) {
  if (ranks.size() < 2) return false;
  step = ranks[1] - ranks[0];
  for (std::size_t i = 2; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != step) return false;
  return step > 0;
}

// TorchRec cuts a row_wise table over all ranks of its group, so that where such a table leaves ranks of the job out,
// in a regular way, the plan is of one group of several.
std::optional<PlanGroup> group_of(const Tree& plan) {
  std::set<int> used;
  std::optional<PlanGroup> group;
  bool same = true;
  for_entries(plan, [&](const std::string&, const Tree& entry) {
    const std::vector<int> ranks = ranks_of_entry(entry);
    used.insert(ranks.begin(), ranks.end());
    int step = 0;
    if (type_of(entry) != "row_wise" || !in_steps(ranks, step)) return;
    const PlanGroup found{ranks.front(), step, static_cast<int>(ranks.size())};
    if (group && (group->first != found.first || group->stride != found.stride || group->size != found.size))
      same = false;
    group = found;
  });
  if (!group || !same) return std::nullopt;
  const bool every = group->stride > 1 && group->first < group->stride;
  const bool block = group->stride == 1 && group->first > 0 && group->first % group->size == 0;
  const bool all_in = std::ranges::all_of(used, [&](int rank) {
    const int place = rank - group->first;
    return place >= 0 && place % group->stride == 0 && place / group->stride < group->size;
  });
  if ((!every && !block) || !all_in) return std::nullopt;
  return group;
}

// The fewest GPUs of whole hosts that hold these ranks and divide the job into equal parts.
int domain_of(const std::vector<int>& ranks, int per_host) {
  const auto [least, most] = std::ranges::minmax(ranks);
  int gpus = per_host;
  while (least / gpus != most / gpus) gpus += per_host;
  return gpus;
}

// Ranks that are to lie on one node: all of a table, or those of each block of columns of grid_shard.
std::vector<std::vector<int>> ranks_together(const Tree& entry) {
  const std::string& type = type_of(entry);
  if (type == "table_row_wise" || type == "table_column_wise") return {ranks_of_entry(entry)};
  if (type != "grid_shard" || entry.find("shards") == nullptr) return {};
  std::map<std::string, std::vector<int>> blocks;
  for (const Tree& shard : entry.find("shards")->items) {
    const Tree* const offsets = shard.find("shard_offsets");
    const auto on = placed_on(shard.find("placement"));
    if (on && offsets != nullptr && offsets->items.size() == 2) blocks[offsets->items[1].scalar].push_back(on->rank);
  }
  std::vector<std::vector<int>> together;
  for (auto& [column, ranks] : blocks) together.push_back(std::move(ranks));
  return together;
}

// Ranks and placements as `rank_of` and `device_of` say, which get the rank and the device that are stated.
void renumber(Tree& plan, const std::function<int(int)>& rank_of, const std::function<int(int, int)>& device_of) {
  for_entries(plan, [&](const std::string&, Tree& entry) {
    if (Tree* const ranks = entry.find("ranks"))
      for (Tree& item : ranks->items)
        if (const auto rank = small_count(item.scalar)) item.scalar = std::to_string(rank_of(*rank));
    Tree* const shards = entry.find("shards");
    if (shards == nullptr) return;
    for (Tree& shard : shards->items) {
      Tree* const placement = shard.find("placement");
      if (const auto on = placed_on(placement))
        placement->scalar = fmt::format("rank:{}/cuda:{}", rank_of(on->rank), device_of(on->rank, on->device));
    }
  });
}

}  // namespace

PlanWorld world_of(const Tree& plan) {
  PlanWorld world;
  world.per_host = gpus_of_host(plan);
  world.group = group_of(plan);
  if (world.per_host == 0 || world.group) return world;
  for_entries(plan, [&](const std::string& table, const Tree& entry) {
    for (const std::vector<int>& ranks : ranks_together(entry)) {
      if (ranks.empty()) continue;
      const int gpus = domain_of(ranks, world.per_host);
      if (gpus == world.per_host || gpus <= world.domain) continue;
      world.domain = gpus;
      world.over_hosts = table;
    }
  });
  return world;
}

Tree plan_of_group(Tree plan, PlanWorld& world) {
  const PlanGroup group = *world.group;
  const int hosts_gpus = world.per_host > 0 ? world.per_host : group.first + group.stride * group.size;
  const int per_host = std::max(1, group.stride > 1 ? hosts_gpus / group.stride : std::min(hosts_gpus, group.size));
  const auto rank_of = [&](int rank) { return (rank - group.first) / group.stride; };
  const auto device_of = [&](int rank, int) { return rank_of(rank) % per_host; };
  renumber(plan, rank_of, device_of);
  world.per_host = per_host;
  return plan;
}

Tree plan_on_nodes(Tree plan, int per_host, int per_node) {
  if (per_host == per_node) return plan;
  const auto device_of = [&](int rank, int device) { return device == rank % per_host ? rank % per_node : device; };
  renumber(
      plan, [](int rank) { return rank; }, device_of);
  return plan;
}

std::string world_text(const PlanWorld& world) {
  if (world.group) {
    const PlanGroup& group = *world.group;
    const int second = group.first + group.stride, last = group.first + group.stride * (group.size - 1);
    const std::string ranks = group.size > 2 ? fmt::format("{}, {} ... {}", group.first, second, last)
                                             : fmt::format("{} and {}", group.first, last);
    return fmt::format(
        "The plan is of one group of a 2D plan (DMPCollection): it has ranks {} of the job, which are ranks 0 to {} "
        "here. That group alone is simulated: neither the all-reduce of weights between the groups, nor what the "
        "others send over NICs that they share with it.",
        ranks, group.size - 1);
  }
  if (world.domain == 0) return "";
  return fmt::format(
      "Table '{}' is cut over {} GPUs of several hosts of {}, as TorchRec does inside of an NVLink domain "
      "(pod_size {}): the cluster has domains of {} GPUs.",
      world.over_hosts, world.domain, world.per_host, world.domain / world.per_host, world.domain);
}

}  // namespace shardsim
