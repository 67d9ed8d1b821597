#include "plan/torchrec/search/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "plan/torchrec/spec/names.h"
#include "plan/torchrec_types.h"

namespace shardsim::torchrec {
namespace {

template <typename Value>
bool holds(const std::vector<Value>& list, Value value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Grid sharding is offered to those alone who ask for it.
std::vector<ShardingType> allowed_types(const ConstrainedTable& table, const SharderLists& lists, Device device) {
  std::vector<ShardingType> types = lists.types ? *lists.types : sharder_types(table.table.pooled, device);
  const std::vector<ShardingType>& wanted = table.constraints.sharding_types;
  std::erase_if(types, [&wanted](ShardingType type) {
    return wanted.empty() ? type == ShardingType::grid_shard : !holds(wanted, type);
  });
  return types;
}

std::vector<ComputeKernel> allowed_kernels(const ConstrainedTable& table, ShardingType type, const SharderLists& lists,
                                           Device device) {
  std::vector<ComputeKernel> kernels = sharder_kernels(type, device);
  if (lists.kernels && type != ShardingType::data_parallel) kernels = *lists.kernels;
  const std::vector<ComputeKernel>& wanted = table.constraints.compute_kernels;
  std::erase_if(kernels, [&wanted](ComputeKernel kernel) {
    return wanted.empty() ? key_value_like(kernel) : !holds(wanted, kernel);
  });
  if (holds(kernels, ComputeKernel::fused)) std::erase(kernels, ComputeKernel::dense);
  return kernels;
}

void require_one_dimension(const std::vector<ConstrainedTable>& tables) {
  std::map<std::string, const TableSpec*> first;
  for (const ConstrainedTable& item : tables) {
    const TableSpec& table = item.table;
    if (table.pooled) continue;
    const TableSpec& other = *first.try_emplace(table.module, &table).first->second;
    if (other.dim == table.dim) continue;
    throw PlannerError(PlannerFailure::other,
                       fmt::format("tables '{}' and '{}' of the sequence collection '{}' have {} and {} columns; "
                                   "TorchRec wants one dimension",
                                   other.name, table.name, table.module, other.dim, table.dim));
  }
}

[[noreturn]] void refuse_constraints(const ConstrainedTable& table, const SharderLists& lists, Device device) {
  const std::string wrong =
      fmt::format("table '{}': its constraints leave no sharding type and kernel", table.table.name);
  if (table.constraints.place.source.empty()) throw PlannerError(PlannerFailure::other, wrong);
  std::vector<std::string> types;
  for (const ShardingType type : lists.types ? *lists.types : sharder_types(table.table.pooled, device))
    types.emplace_back(name_of(type));
  throw input_error(table.constraints.place, wrong,
                    fmt::format("A {} table can be {}; data_parallel goes with kernel dense, the others with fused, "
                                "fused_uvm and fused_uvm_caching",
                                table.table.pooled ? "pooled" : "sequence", join(types)));
}

void add_options(SearchSpace& space, const ConstrainedTable& table, const SharderLists& lists, const Topology& topology,
                 const EstimateSettings& settings) {
  const int index = static_cast<int>(space.tables.size());
  const std::size_t before = space.options.size();
  for (const ShardingType type : allowed_types(table, lists, topology.device)) {
    for (const ComputeKernel kernel : allowed_kernels(table, type, lists, topology.device)) {
      space.options.push_back(estimate_option(table.table, index, type, kernel, topology, settings));
    }
  }
  if (space.options.size() == before) {
    refuse_constraints(table, lists, topology.device);
  }
  space.tables.push_back(table.table);
}

}  // namespace

std::vector<ShardingType> sharder_types(bool pooled, Device device) {
  using enum Strategy;
  if (!pooled) return torchrec_types(TableKind::sequence);
  if (device == Device::cpu) return {data_parallel, table_wise, column_wise, table_column_wise};
  std::vector<ShardingType> types = torchrec_types(TableKind::pooled);
  if (device == Device::mtia) std::erase(types, data_parallel);
  return types;
}

std::vector<ComputeKernel> sharder_kernels(ShardingType type, Device device) {
  using enum ComputeKernel;
  if (type == ShardingType::data_parallel) return {dense};
  if (device != Device::cuda) return {fused};
  return {fused, fused_uvm, fused_uvm_caching, key_value, ssd_virtual_table, dram_virtual_table};
}

SearchSpace enumerate_options(const std::vector<ConstrainedTable>& tables, const SharderLists& lists,
                              const Topology& topology, const EstimateSettings& settings) {
  require_one_dimension(tables);
  SearchSpace space;
  for (const ConstrainedTable& table : tables) {
    const auto group = table.constraints.device_group;
    if (group && *group != topology.device) continue;
    add_options(space, table, lists, topology, settings);
  }
  return space;
}

Proposal proposal_of(const std::vector<ShardingOption>& options) {
  Proposal proposal;
  for (const ShardingOption& option : options) proposal.push_back(&option);
  return proposal;
}

std::vector<Proposal> options_by_table(const Proposal& options) {
  std::unordered_map<int, std::size_t> place;
  std::vector<Proposal> tables;
  for (const ShardingOption* option : options) {
    const auto [found, added] = place.try_emplace(option->table, tables.size());
    if (added) tables.emplace_back();
    tables[found->second].push_back(option);
  }
  return tables;
}

void sort_by_score(Proposal& options, bool use_depth) {
  std::stable_sort(options.begin(), options.end(), [use_depth](const ShardingOption* a, const ShardingOption* b) {
    return use_depth ? a->depth < b->depth : a->sum < b->sum;
  });
}

}  // namespace shardsim::torchrec
