#include "sim/lower/group_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "program/program.h"
#include "sim/lower/known_shares.h"
#include "sim/lower/lower.h"

namespace shardsim {
namespace {

constexpr int kLengthBytes = 4;  // on the wire, as in TorchRec's KeyedJaggedTensor
constexpr int kWeightBytes = 4;
constexpr int kStrideBytes = 8;          // the samples of a feature
constexpr std::int64_t kScaleBytes = 8;  // a scale and an offset in fp32, beside each row of fp8 or int8

// Bags of the batch of one rank.
double bags_of_rank(const Table& table, std::int64_t batch) {
  double bags = 0;
  for (const Feature& feature : table.features)
    bags += feature.num_poolings * static_cast<double>(batch_of(feature, batch));
  return bags;
}

Table plain_batch(Table table) {
  for (Feature& feature : table.features) feature.batch.reset();
  return table;
}

// Where a feature of a module has another batch than the workload, TorchRec brings the vectors of all of them from
// their batches to that of the workload.
bool varies_batch_of_module(const Table& table, const Workload& workload) {
  if (std::ranges::none_of(table.features, [](const Feature& feature) { return feature.batch.has_value(); }))
    return false;
  const auto module_of = [&](const Table& of) { return of.module.empty() ? workload.pooled_module : of.module; };
  return std::ranges::any_of(workload.tables, [&](const Table& other) {
    return other.kind == table.kind && module_of(other) == module_of(table) &&
           varies_batch(other, workload.batch_per_gpu);
  });
}

// As many lengths as samples, of each feature.
std::int64_t lengths_of_rank(const Table& table, std::int64_t batch) {
  std::int64_t lengths = 0;
  for (const Feature& feature : table.features) lengths += batch_of(feature, batch);
  return lengths;
}

std::shared_ptr<const RowShares> uneven_shares(const Placement& placement, const Table& table, const RowHash& hash,
                                               const LoweringOptions& options, KnownShares& known) {
  if (options.load.row_shares == LoadOptions::RowShares::even || placement.shards() < 2) return nullptr;
  const RowCut cut = cut_of(placement, table, options.load);
  std::shared_ptr<const RowShares> shares =
      known.of(placement, table, cut, hash, options.observed_payload, options.most_head);
  return even(*shares, placement) ? nullptr : shares;
}

// Every rank removes the duplicates of its own batch: what it sends of a placement are the different ones of its ids.
void deduplicate(GroupMember& member, bool observed_payload) {
  const Table& table = *member.table;
  if (member.occurrences == 0) return;
  const ObservedAccess* observed = observed_payload && table.runtime ? &*table.runtime : nullptr;
  const RowLaw law(member.access, member.placement->row_begin, member.placement->row_end, observed);
  const auto ids = static_cast<double>(member.occurrences);
  const double different = law.expected_distinct(0, law.rows(), ids);
  member.items.count = std::clamp<std::int64_t>(half_up(different), 1, member.occurrences);
  if (!member.uneven) return;
  member.shares_of_different = member.uneven->distinct(ids);
  const double all = std::accumulate(member.shares_of_different.begin(), member.shares_of_different.end(), 0.0);
  for (double& share : member.shares_of_different) share /= all;
}

// The memory in which the rows of a table lie, by its compute kernel.
constexpr std::array<std::pair<std::string_view, RowMemory>, 8> kMemories{
    {{"dense", RowMemory::hbm},
     {"fused", RowMemory::hbm},
     {"fused_uvm", RowMemory::host},
     {"fused_uvm_caching", RowMemory::cached},
     {"key_value", RowMemory::cached},
     {"dram_virtual_table", RowMemory::cached},
     {"ssd_virtual_table", RowMemory::cached},
     {"dram_ssd_virtual_table", RowMemory::cached}}};

// FBGEMM fills no cache ahead that holds the rows which are used most ("Only LRU cache policy supports
// prefetch_pipeline", fbgemm_gpu/split_table_batched_embeddings_ops_training.py).
void check_cache(const GroupMember& member, const Workload& workload) {
  if (memory_of(member) != RowMemory::cached || member.latest_cached) return;
  if (!workload.fetches_ahead()) return;
  throw input_error(member.table->place,
                    "table '" + member.table->name +
                        "' has a cache of the rows that are used most (cache_policy: lfu), which FBGEMM does not fill "
                        "ahead, as the pipeline " +
                        workload.pipeline + " does",
                    "Choose cache_policy: lru, or another pipeline");
}

}  // namespace

double share_of_ids(const Table& table, bool (*counts)(const Feature&)) {
  double all = 0, counted = 0;
  for (const Feature& feature : table.features) {
    all += feature.ids();
    if (counts(feature)) counted += feature.ids();
  }
  return all > 0 ? counted / all : 0;
}

std::vector<double> GroupMember::shares_of_occurrences() const {
  if (uneven) return uneven->shares();
  std::vector<double> parts(placement->holders.front().size(), 1.0);
  if (placement->shards() < 2) return parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (placement->shard_rows(static_cast<int>(i)) == 0) parts[i] = 0;
  }
  return parts;
}

bool GroupMember::has_rows(int position) const {
  if (uneven) return uneven->rows_of(position) > 0;
  return placement->shards() < 2 || placement->shard_rows(position) > 0;
}

std::vector<int> owning_ranks(const GroupMember& member) {
  std::vector<int> ranks;
  const std::vector<int>& holders = member.placement->holders.front();
  for (std::size_t position = 0; position < holders.size(); ++position) {
    if (member.has_rows(static_cast<int>(position))) ranks.push_back(holders[position]);
  }
  return ranks;
}

std::vector<int> owning_nodes(const GroupMember& member, int ranks_per_node) {
  std::set<int> nodes;
  for (const int rank : owning_ranks(member)) nodes.insert(rank / ranks_per_node);
  return {nodes.begin(), nodes.end()};
}

IdCounts counts_of(const GroupMember& member, std::int64_t of_one_source, int group_size) {
  const Strategy strategy = member.placement->strategy;
  const std::vector<double> shares = member.shares();
  const bool by_position = strategy == Strategy::flex || strategy == Strategy::row_wise;
  return {of_one_source, shares, group_size, by_position && static_cast<int>(shares.size()) == group_size};
}

// TorchRec reduces partial sums in `reduced` where fp8 or mx4 is asked for
// (torchrec/distributed/fbgemm_qcomm_codec.py).
Dtype sent_type(Dtype asked, bool sums, Dtype reduced) {
  return (asked == Dtype::fp8 || asked == Dtype::mx4) && sums ? reduced : asked;
}

namespace {

void refuse_summed_int8(const GroupMember& member, bool summed) {
  if (!summed || (member.forward_type != Dtype::int8 && member.backward_type != Dtype::int8)) return;
  throw input_error(
      member.table->place,
      fmt::format("partial sums of table '{}' would be added up as int8, which no kernel does", member.table->name),
      "Choose fp16, bf16 or fp8 for it, or another sharding type");
}

// Refuses int8 without scales, whether kernels of their own convert vectors or lookups write them: nobody sends it. An
// estimate of TorchRec's planner takes its byte for each element all the same.
void refuse_bare_int8(const GroupMember& member, const WireCodec& codec) {
  for (const bool forward : {true, false}) {
    if ((forward ? member.forward_type : member.backward_type) != Dtype::int8) continue;
    if ((forward ? codec.forward_rows : codec.backward_rows) > 0) continue;
    throw input_error(
        member.table->place,
        fmt::format("no kernel of TorchRec sends int8 without scales, as {} of table '{}' would be",
                    forward ? "vectors" : "gradients", member.table->name),
        fmt::format("Write '{}' in 'wire_dtype', or another type", forward ? "quantize_dim" : "quantize_dim_backward"));
  }
}

// The sums that were made in a node cross to others as vectors do, by the codec of such exchanges
// (torchrec/distributed/sharding/twrw_sharding.py, TwRwPooledEmbeddingDist).
bool sums_cross(const GroupMember& member, const Program& program) {
  const Strategy strategy = member.placement->strategy;
  const bool in_node = strategy == Strategy::table_row_wise || strategy == Strategy::grid_shard;
  return member.pooled() && in_node && program.world_size > program.ranks_per_node;
}

// Elements that share a scale and an offset, or an exponent, and the bytes that they take together.
struct WireRow {
  std::int64_t elements = 0, bytes = 0;
  const char* key = "";
};

WireRow wire_row(Dtype type, std::int64_t row, std::int64_t group) {
  if (type == Dtype::mx4) return {group, group / 2 + 1, "mx4_group"};
  return {row, (row + 3) / 4 * 4 + kScaleBytes, "quantize_dim"};
}

// Counts one of `vectors` that a rank has for each other one. Rows are of all that is sent there, so one may have
// several vectors.
std::int64_t wire_bytes(const GroupMember& member, Dtype type, const WireRow& row, std::int64_t vectors) {
  const std::int64_t columns = member.placement->columns();
  if (row.elements == 0 || (type != Dtype::fp8 && type != Dtype::int8 && type != Dtype::mx4))
    return columns * dtype_bytes(type);
  if (columns % row.elements == 0) return columns / row.elements * row.bytes;
  // A sequence brings as many vectors as it has ids, which no rule makes whole rows.
  const bool whole = member.pooled() && vectors * columns % row.elements == 0;
  if (whole && columns * row.bytes % row.elements == 0) return columns * row.bytes / row.elements;
  throw input_error(member.table->place,
                    fmt::format("{} columns of table '{}' are no whole rows of {} that share a scale", columns,
                                member.table->name, row.elements),
                    fmt::format("Choose a '{}' that divides the columns of every shard", row.key));
}

void put_wire(GroupMember& member, const Workload& workload, const Program& program, std::int64_t vectors) {
  const Table& table = *member.table;
  const WireCodec& codec = workload.wire_codec;
  const bool sums = member.pooled() && in_rows(member.placement->strategy);
  member.forward_type = sent_type(forward_wire(workload, table), sums, Dtype::fp16);
  member.backward_type = sent_type(backward_wire(workload, table), sums, Dtype::bf16);
  refuse_summed_int8(member, sums);
  const bool cross = sums_cross(member, program);
  member.cross_forward_type = cross ? forward_wire(workload, table) : member.forward_type;
  member.cross_backward_type = cross ? backward_wire(workload, table) : member.backward_type;
  const Strategy strategy = member.placement->strategy;
  const bool sent = !replicated(strategy) || strategy == Strategy::flex;
  if (sent) refuse_bare_int8(member, codec);
  const auto carried = [&](Dtype type, std::int64_t row) {
    // A vector that stays on its rank has no scales, and no half bytes.
    return GroupMember::Carried{
        vectors, wire_bytes(member, type, sent ? wire_row(type, row, codec.mx4_group) : WireRow{}, vectors)};
  };
  member.forward = carried(member.forward_type, codec.forward_rows);
  member.backward = carried(member.backward_type, codec.backward_rows);
  member.cross_forward = carried(member.cross_forward_type, codec.forward_rows);
  member.cross_backward = carried(member.cross_backward_type, codec.backward_rows);
}

// A type that is written out and is that of the workload all the same takes a table out of no exchange.
bool states_other_types(const Workload& workload, const Table& table) {
  return forward_wire(workload, table) != wire_dtype(workload.wire_forward, table) ||
         backward_wire(workload, table) != wire_dtype(workload.wire_backward, table);
}

}  // namespace

GroupMember make_member(int shard, const Placement& placement, const RowCaches& caches, const Workload& workload,
                        const Program& program, const LoweringOptions& options, KnownShares& known) {
  const Table& table = workload.tables[placement.table];
  if (table.bag_ids == BagIds::first_id && placement.rows() < table.rows) {
    throw input_error(
        table.place,
        "table '" + table.name + "' is cut into row tiers, which cannot be combined with bag_ids: first_id",
        "Use another sharding type, or leave 'bag_ids' out");
  }
  GroupMember member{shard, &placement, &table, known.distribution(table)};
  const RowHash hash = row_hash(program, program.shard(shard));
  member.uneven = uneven_shares(placement, table, hash, options, known);
  const std::int64_t batch = workload.batch_per_gpu;
  member.items = {items_per_rank(placement, workload, member.access, options.observed_payload), workload.id_bytes};
  member.occurrences = member.items.count;
  if (table.index_dedup) deduplicate(member, options.observed_payload);
  const double weighted = static_cast<double>(member.items.count) *
                          share_of_ids(table, [](const Feature& feature) { return feature.weighted; });
  const std::int64_t vectors = member.pooled() ? half_up(bags_of_rank(table, batch)) : member.items.count;
  member.weights = {half_up(weighted), kWeightBytes};
  member.lengths = {lengths_of_rank(table, batch), kLengthBytes};
  if (varies_batch_of_module(table, workload)) {
    member.strides = {static_cast<std::int64_t>(table.features.size()), kStrideBytes};
    member.expanded = half_up(bags_of_rank(plain_batch(table), batch));
  }
  member.row_bytes = placement.columns() * dtype_bytes(table.dtype);
  put_wire(member, workload, program, vectors);
  // FBGEMM counts no use of the rows of key-value stores.
  member.latest_cached = workload.cache_policy == "lru" || row_store_of(placement) != RowStore::none;
  member.caches = caches;
  member.own_types = states_other_types(workload, table);
  if (options.drawn != nullptr) member.drawn = &options.drawn->placements[static_cast<std::size_t>(shard)];
  return member;
}

const CellCounts* drawn_counts(const GroupMember& member, CarriedPart what) {
  if (member.drawn == nullptr || what == &GroupMember::lengths || what == &GroupMember::strides) return nullptr;
  if (what == &GroupMember::weights) return &member.drawn->weights;
  return what == &GroupMember::items || !member.pooled() ? &member.drawn->ids : nullptr;
}

std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload) {
  const Table& table = workload.tables[placement.table];
  const double per_sample = observed_payload && table.runtime
                                ? table.runtime->sum(access, placement.row_begin, placement.row_end)
                                : access.sum(placement.row_begin, placement.row_end);
  return half_up(batch_of(table, workload.batch_per_gpu) * per_sample);
}

RowMemory memory_of(const GroupMember& member) {
  if (replicated(member.placement->strategy)) return RowMemory::hbm;
  const std::string& kernel = member.placement->compute_kernel;
  for (const auto& [name, memory] : kMemories) {
    const bool holds_all = memory == RowMemory::cached && member.caches.hbm >= 1;
    if (name == kernel) return holds_all ? RowMemory::hbm : memory;
  }
  throw input_error(
      member.table->place,
      "table '" + member.table->name + "' has the compute kernel '" + kernel + "', which is not simulated",
      "Choose dense, fused, fused_uvm, fused_uvm_caching, or key_value and its like");
}

RowStore store_of(const GroupMember& member) {
  return memory_of(member) == RowMemory::cached ? row_store_of(*member.placement) : RowStore::none;
}

void check_memory(const GroupMember& member, const Workload& workload) {
  check_cache(member, workload);
  if (!workload.hugectr_rows() && !workload.hugectr_pipeline()) return;
  if (memory_of(member) == RowMemory::hbm) return;
  throw input_error(member.table->place,
                    "table '" + member.table->name + "' has the compute kernel '" + member.placement->compute_kernel +
                        "', but HugeCTR's embeddings keep all rows in device memory",
                    "Choose fused or dense");
}

std::vector<std::string> lowered_kernels() {
  std::vector<std::string> names;
  for (const auto& [name, memory] : kMemories) names.emplace_back(name);
  return names;
}

}  // namespace shardsim
