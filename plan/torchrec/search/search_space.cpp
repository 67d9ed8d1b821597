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

// Holds what all tables of a run have in common.
struct Offer {
  const SharderLists& lists;
  const Topology& topology;
  const EstimateSettings& settings;

  bool newest() const { return settings.version == PlannerVersion::v2026_08; }
  // Version 2026-08 looks whether there is an SSD for the tables of key_value.
  bool lacks_ssd() const {
    return newest() && std::ranges::none_of(topology.devices, [](const Storage& device) { return device.ssd > 0; });
  }
};

// The older version cuts no rows at all of a collection with feature processors.
std::vector<ShardingType> offered_types(const TableSpec& table, const Offer& offer) {
  std::vector<ShardingType> types =
      offer.lists.types ? *offer.lists.types : sharder_types(table.pooled, offer.topology.device);
  if (!table.feature_processed || offer.newest()) return types;
  std::erase_if(types, [&](ShardingType type) {
    return in_rows(type) || (type == ShardingType::table_column_wise && offer.topology.device == Device::mtia);
  });
  return types;
}

// Grid sharding, and rows of tables with feature processors, are offered to those alone who ask for it.
std::vector<ShardingType> allowed_types(const ConstrainedTable& table, const Offer& offer) {
  std::vector<ShardingType> types = offered_types(table.table, offer);
  const std::vector<ShardingType>& wanted = table.constraints.sharding_types;
  std::erase_if(types, [&](ShardingType type) {
    if (!wanted.empty()) return !is_one_of(wanted, type);
    return type == ShardingType::grid_shard || (table.table.feature_processed && in_rows(type));
  });
  return types;
}

std::vector<ComputeKernel> allowed_kernels(const ConstrainedTable& table, ShardingType type, const Offer& offer) {
  std::vector<ComputeKernel> kernels = sharder_kernels(type, offer.topology.device, offer.settings.version);
  if (offer.lists.kernels && type != ShardingType::data_parallel) kernels = *offer.lists.kernels;
  const std::vector<ComputeKernel>& wanted = table.constraints.compute_kernels;
  std::erase_if(kernels, [&wanted](ComputeKernel kernel) {
    return wanted.empty() ? key_value_like(kernel) : !is_one_of(wanted, kernel);
  });
  if (offer.lacks_ssd()) std::erase(kernels, ComputeKernel::key_value);
  if (is_one_of(kernels, ComputeKernel::fused)) std::erase(kernels, ComputeKernel::dense);
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

[[noreturn]] void refuse_constraints(const ConstrainedTable& table, const Offer& offer) {
  const bool ssd = offer.lacks_ssd() && is_one_of(table.constraints.compute_kernels, ComputeKernel::key_value);
  const std::string wrong = fmt::format("table '{}': its constraints leave no sharding type and kernel{}",
                                        table.table.name, ssd ? ": key_value needs an SSD, and no rank has one" : "");
  if (table.constraints.place.source.empty()) throw PlannerError(PlannerFailure::runtime_error, wrong);
  if (ssd) throw input_error(table.constraints.place, wrong, "State topology.ssd_cap, or allow another kernel");
  std::vector<std::string> types;
  for (const ShardingType type : offered_types(table.table, offer)) types.emplace_back(name_of(type));
  throw input_error(table.constraints.place, wrong,
                    fmt::format("A {} table can be {}; data_parallel goes with kernel dense, the others with fused, "
                                "fused_uvm and fused_uvm_caching",
                                table.table.pooled ? "pooled" : "sequence", join(types)));
}

// If the estimator refuses a table, the error names the place of the table's constraints.
ShardingOption estimated(const ConstrainedTable& table, int index, ShardingType type, ComputeKernel kernel,
                         const Offer& offer) {
  try {
    return estimate_option(table.table, index, type, kernel, offer.topology, offer.settings);
  } catch (const PlannerError& error) {
    const bool numbers =
        error.failure() == PlannerFailure::value_error || error.failure() == PlannerFailure::assertion_error;
    if (!numbers || table.constraints.place.source.empty()) throw;
    throw input_error(table.constraints.place, error.what(),
                      "Change these constraints, or what they are about: the hardware, the sharder, the table");
  }
}

void add_options(SearchSpace& space, const ConstrainedTable& table, const Offer& offer) {
  const int index = static_cast<int>(space.tables.size());
  const std::size_t before = space.options.size();
  for (const ShardingType type : allowed_types(table, offer)) {
    for (const ComputeKernel kernel : allowed_kernels(table, type, offer)) {
      space.options.push_back(estimated(table, index, type, kernel, offer));
    }
  }
  if (space.options.size() == before) refuse_constraints(table, offer);
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

std::vector<ComputeKernel> sharder_kernels(ShardingType type, Device device, PlannerVersion version) {
  using enum ComputeKernel;
  if (type == ShardingType::data_parallel) return {dense};
  if (device != Device::cuda) return {fused};
  std::vector<ComputeKernel> kernels = {fused,     fused_uvm,         fused_uvm_caching,
                                        key_value, ssd_virtual_table, dram_virtual_table};
  if (version == PlannerVersion::v2026_08) kernels.push_back(dram_ssd_virtual_table);
  return kernels;
}

SearchSpace enumerate_options(const std::vector<ConstrainedTable>& tables, const SharderLists& lists,
                              const Topology& topology, const EstimateSettings& settings) {
  require_one_dimension(tables);
  SearchSpace space;
  const Offer offer{lists, topology, settings};
  for (const ConstrainedTable& table : tables) {
    const auto group = table.constraints.device_group;
    if (group && *group != topology.device) continue;
    add_options(space, table, offer);
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
