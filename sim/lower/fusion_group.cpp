#include "sim/lower/fusion_group.h"

#include <algorithm>
#include <numeric>

#include "sim/lower/group_member.h"

namespace shardsim {
namespace {

struct StrategyOrder {
  Strategy strategy;
  const char* name;
};
constexpr StrategyOrder kOrder[] = {
    {Strategy::data_parallel, "dp"},
    {Strategy::flex, "flex"},
    {Strategy::row_wise, "rw"},
    {Strategy::column_wise, "cw"},
    {Strategy::table_column_wise, "twcw"},
    {Strategy::table_wise, "tw"},
    {Strategy::table_row_wise, "twrw"},
    {Strategy::grid_shard, "gs"},
};

// Fills one group from its members.
class GroupMaker {
 public:
  GroupMaker(Program& program, FusionGroup& group, const std::vector<GroupMember>& members, const Workload& workload,
             const Cluster& cluster)
      : program_(program),
        group_(group),
        members_(members),
        workload_(workload),
        world_(cluster.world_size()),
        nodes_(cluster.nodes()),
        per_node_(cluster.ranks_per_node()),
        size_(group.strategy == Strategy::flex ? static_cast<int>(members.front().placement->holders.front().size())
                                               : world_) {}

  void make() {
    if (group_.strategy != Strategy::data_parallel && size_ > 1)
      group_.group = group_.strategy == Strategy::flex ? "node" : "world";
    const int sources = group_.strategy == Strategy::data_parallel ? 1 : size_;
    group_.parts = lookup_parts(members_, workload_, sources, world_, workload_.full_input_exchange());
    for (const GroupMember& member : members_) add(member);
    add_replicas();
    if (group_.exchanges()) add_exchanges();
  }

 private:
  void add(const GroupMember& member) {
    group_.weighted = group_.weighted || member.weights.count > 0;
    const double bytes = static_cast<double>(member.row_bytes) * static_cast<double>(member.forward.count);
    // The ids of a table are sent once per column block, and drawn once.
    const bool first_block = member.placement->column_begin == 0;
    const double ids = first_block ? static_cast<double>(member.items.count) : 0;
    group_.own_bytes += bytes;
    group_.own_ids += ids;
    if (first_block) group_.own_extra_input += static_cast<double>(member.weights.count * member.weights.bytes);
    if (first_block && member.placement->row_begin == 0) {
      group_.own_extra_input += static_cast<double>(member.lengths.count * member.lengths.bytes);
    }
    if (!member.tier()) return;
    group_.own_tier_bytes += bytes;
    group_.own_tier_ids += ids;
  }

  void add_replicas() {
    if (!replicated(group_.strategy)) return;
    for (const GroupMember& member : members_) {
      const auto rows = static_cast<std::int64_t>(member.placement->shard_rows(0));  // the largest shard, on every rank
      const std::int64_t row = member.placement->columns() * dtype_bytes(gradient_dtype(*member.table));
      group_.replicated_bytes.push_back(rows * row);
    }
    if (group_.strategy == Strategy::data_parallel) return;
    group_.replicated_bytes = {
        std::accumulate(group_.replicated_bytes.begin(), group_.replicated_bytes.end(), std::int64_t{0})};
  }

  ByteMatrix matrix(CarriedPart what) const { return exchange_matrix(members_, size_, what); }

  void add_exchanges() {
    const ByteMatrix ids = matrix(&GroupMember::items), lengths = matrix(&GroupMember::lengths);
    const ByteMatrix weights = group_.weighted ? matrix(&GroupMember::weights) : ByteMatrix{};
    add_shuffled(ids, lengths, weights);
    const bool full = workload_.full_input_exchange();
    group_.ids = add("_ids", ids);
    if (full) group_.lengths = add("_lengths", lengths);
    if (full && group_.weighted) group_.weights = add("_weights", weights);
    if (!group_.reduces()) {
      group_.gradients = add("_grads", matrix(&GroupMember::backward));
      group_.rows = add_rows("", group_.gradients, matrix(&GroupMember::forward));
      return;
    }
    group_.scattered_bytes = reduced_bytes(&GroupMember::forward);
    group_.gathered_bytes = reduced_bytes(&GroupMember::backward);
    if (!group_.crosses()) return;
    group_.cross_gradients = add("_cross_grads", cross_matrix(members_, nodes_, per_node_, &GroupMember::backward));
    group_.cross_rows =
        add_rows("_cross", group_.cross_gradients, cross_matrix(members_, nodes_, per_node_, &GroupMember::forward));
  }

  MatrixUse add(const std::string& suffix, const ByteMatrix& bytes) {
    program_.matrices.push_back({program_.fusions.back().name + suffix, bytes});
    return {static_cast<int>(program_.matrices.size()) - 1, false};
  }

  // The output exchange returns what the exchange of ids asked for: what an owner sends to a source is to the row what
  // the source asked of it. So it moves the matrix of the gradients, transposed, or one of its own where the types on
  // the wire differ.
  MatrixUse add_rows(const std::string& suffix, MatrixUse gradients, const ByteMatrix& rows_by_source) {
    const bool alike = resolve_matrix(program_, gradients) == rows_by_source;
    MatrixUse rows = alike ? gradients : add(suffix + "_rows_by_source", rows_by_source);
    rows.transposed = true;
    return rows;
  }

  // Partial sums of every bag of the ranks served, and their gradients.
  std::vector<std::int64_t> reduced_bytes(CarriedPart what) const {
    std::vector<std::int64_t> bytes(group_.crosses() ? nodes_ : 1, 0);
    for (const GroupMember& member : members_) {
      const int node = group_.crosses() ? member.placement->holders.front().front() / per_node_ : 0;
      bytes[node] += size_ * (member.*what).count * (member.*what).bytes;
    }
    return bytes;
  }

  // What passes through the memory of each rank on the way.
  void add_shuffled(const ByteMatrix& ids, const ByteMatrix& lengths, const ByteMatrix& weights) {
    const int sets = world_ / size_;
    group_.owner_inputs.assign(world_, 0);
    group_.owner_bytes.assign(world_, 0);
    std::vector<const ByteMatrix*> inputs = {&ids, &lengths};
    if (group_.weighted) inputs.push_back(&weights);
    for (const ByteMatrix* input : inputs) group_.sent_inputs += static_cast<double>(input->bytes_sent(0, size_));
    const std::vector<int> ranks = positions_to_ranks(sets);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (const ByteMatrix* input : inputs) {
        group_.owner_inputs[ranks[i]] += static_cast<double>(input->bytes_received(static_cast<int>(i) % size_, size_));
      }
    }
    if (!group_.pooled()) add_owner_rows(ranks);
  }

  std::vector<int> positions_to_ranks(int sets) const {
    if (group_.strategy != Strategy::flex) return all_ranks(world_);
    std::vector<int> ranks;
    for (int set = 0; set < sets; ++set) {
      const std::vector<int>& group = members_.front().placement->holders[set];
      ranks.insert(ranks.end(), group.begin(), group.end());
    }
    return ranks;
  }

  void add_owner_rows(const std::vector<int>& ranks) {
    std::vector<GroupMember> stored = members_;
    for (GroupMember& member : stored) member.backward.bytes = member.row_bytes;
    const ByteMatrix rows = exchange_matrix(stored, size_, &GroupMember::backward);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      group_.owner_bytes[ranks[i]] += static_cast<double>(rows.bytes_received(static_cast<int>(i) % size_, size_));
    }
  }

  Program& program_;
  FusionGroup& group_;
  const std::vector<GroupMember>& members_;
  const Workload& workload_;
  int world_, nodes_, per_node_, size_;
};

std::vector<GroupMember> members_of(const Plan& plan, const Workload& workload, Strategy strategy, TableKind kind,
                                    bool observed_payload) {
  std::vector<GroupMember> members;
  for (std::size_t index = 0; index < plan.placements.size(); ++index) {
    const Placement& placement = plan.placements[index];
    if (placement.strategy != strategy || workload.tables[placement.table].kind != kind) continue;
    members.push_back(make_member(static_cast<int>(index), placement, workload, observed_payload));
  }
  return members;
}

}  // namespace

std::vector<FusionGroup> fuse(Program& program, const Plan& plan, const Workload& workload, const Cluster& cluster,
                              bool observed_payload) {
  std::vector<FusionGroup> groups;
  const TableKind first = workload.tables.front().kind;
  for (const TableKind kind : {first, first == TableKind::pooled ? TableKind::sequence : TableKind::pooled}) {
    for (const StrategyOrder& order : kOrder) {
      const auto members = members_of(plan, workload, order.strategy, kind, observed_payload);
      if (members.empty()) continue;
      FusionGroup& group = groups.emplace_back();
      group.strategy = order.strategy;
      group.kind = kind;
      group.index = static_cast<int>(groups.size()) - 1;
      for (const GroupMember& member : members) group.shards.push_back(member.shard);
      const std::string name = (kind == TableKind::pooled ? "pooled_" : "") + std::string(order.name);
      program.fusions.push_back({name, kind, group.shards});
      GroupMaker(program, group, members, workload, cluster).make();
    }
  }
  return groups;
}

}  // namespace shardsim
