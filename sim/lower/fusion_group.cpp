#include "sim/lower/fusion_group.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "program/program.h"

namespace shardsim {
namespace {

constexpr double kInverseBytes = 8;  // of the place of a sample in a feature's own batch

// Fills one group from its members.
class GroupMaker {
 public:
  GroupMaker(Program& program, FusionGroup& group, const std::vector<GroupMember>& members, const Workload& workload,
             const std::vector<OwnInput>& inputs, const Cluster& cluster, const LoweringOptions& options)
      : program_(program),
        group_(group),
        members_(members),
        workload_(workload),
        inputs_(inputs),
        row_growth_(options.row_growth),
        row_tables_(options.row_tables),
        fills_ahead_(workload.fetches_ahead() || options.fills_ahead),
        known_(options.known.get()),
        world_(cluster.world_size()),
        nodes_(cluster.nodes()),
        per_node_(cluster.ranks_per_node()),
        size_(group.strategy == Strategy::flex ? static_cast<int>(members.front().placement->holders.front().size())
                                               : world_) {
    std::ranges::copy_if(members, std::back_inserter(varied_),
                         [](const GroupMember& member) { return member.expanded > 0; });
  }

  void make() {
    if (group_.strategy != Strategy::data_parallel && size_ > 1)
      group_.group = group_.strategy == Strategy::flex ? "node" : "world";
    const int sources = group_.strategy == Strategy::data_parallel ? 1 : size_;
    group_.parts = lookup_parts(
        members_, workload_, sources, world_,
        {workload_.full_input_exchange(), row_growth_ || workload_.hugectr_rows(), row_tables_, known_, fills_ahead_});
    for (const GroupMember& member : members_) add(member);
    if (group_.sums_received()) add_partial_sums();
    add_replicas();
    if (!group_.exchanges()) return;
    add_exchanges();
    if (workload_.wire_codec.kernels) add_conversions(group_, members_, world_, per_node_);
    if (workload_.full_input_exchange()) add_gradient_bytes();
  }

 private:
  void add(const GroupMember& member) {
    const bool may_have_weights =
        member.drawn != nullptr && std::ranges::any_of(member.table->features, &Feature::weighted);
    group_.weighted = group_.weighted || member.weights.count > 0 || may_have_weights;
    const OwnAmount vectors = static_cast<double>(member.row_bytes) * own(member, &GroupMember::forward);
    (member.tier() ? group_.own_tier_bytes : group_.own_bytes) += vectors;
    group_.own_wire_bytes += static_cast<double>(member.forward.bytes) * own(member, &GroupMember::forward);
    if (member.table->index_dedup) add_duplicates(member, vectors);
    if (member.expanded > 0) add_expanded(member, vectors);
    // The ids of a table are sent once per column block, and drawn once.
    if (member.placement->column_begin > 0) return;
    group_.own_ids += occurrences(member);
    if (member.tier()) group_.own_tier_ids += own(member, &GroupMember::items);
    add_input(member, inputs_[static_cast<std::size_t>(member.placement->table)]);
  }

  void add_input(const GroupMember& member, const OwnInput& input) {
    group_.own_input_bytes += input.ids * static_cast<double>(workload_.id_bytes) * occurrences(member);
    group_.own_input_bytes +=
        input.ids * static_cast<double>(member.weights.bytes) * own(member, &GroupMember::weights);
    if (member.placement->row_begin > 0 || !sends_lengths()) return;
    group_.own_input_bytes +=
        input.features * static_cast<double>(member.lengths.bytes) * own(member, &GroupMember::lengths);
    if (member.expanded == 0) return;  // a feature says which of its samples each of the batch is
    const auto samples =
        static_cast<double>(member.table->features.size()) * static_cast<double>(workload_.batch_per_gpu);
    group_.own_input_bytes += OwnAmount::expected(input.features * kInverseBytes * samples);
  }

  void add_duplicates(const GroupMember& member, const OwnAmount& kept_bytes) {
    const OwnAmount all = occurrences(member);
    group_.own_duplicated_bytes += static_cast<double>(member.row_bytes) * all;
    group_.own_kept_bytes += kept_bytes;
    if (member.placement->column_begin > 0) return;
    group_.own_duplicated_ids += all;
    group_.own_kept_ids += own(member, &GroupMember::items);
  }

  // Every sample of the batch gets the vector of one in the feature's own.
  void add_expanded(const GroupMember& member, const OwnAmount& kept_bytes) {
    group_.own_duplicated_bytes += OwnAmount::expected(static_cast<double>(member.row_bytes * member.expanded));
    group_.own_kept_bytes += kept_bytes;
  }

  // Ids of each rank's own batch.
  OwnAmount occurrences(const GroupMember& member) const {
    if (member.drawn == nullptr) return OwnAmount::expected(static_cast<double>(member.occurrences));
    return OwnAmount::drawn(sent_by_rank(member.drawn->occurrences()));
  }

  std::vector<double> sent_by_rank(const CellCounts& of) const {
    std::vector<double> counts;
    for (int rank = 0; rank < world_; ++rank) counts.push_back(static_cast<double>(of.sent(rank)));
    return counts;
  }

  // HugeCTR knows those of bags that are all as long.
  bool sends_lengths() const {
    return !workload_.hugectr_pipeline() || !std::ranges::all_of(members_, [](const GroupMember& member) {
      return member.table->lengths.family == "fixed" &&
             std::ranges::all_of(member.table->features,
                                 [](const Feature& f) { return f.pooling_factor == std::floor(f.pooling_factor); });
    });
  }

  // Returns the number of them in each rank's own batch.
  OwnAmount own(const GroupMember& member, CarriedPart what) const {
    if (drawn_counts(member, what) == nullptr) return OwnAmount::expected(static_cast<double>((member.*what).count));
    return OwnAmount::drawn(sent_by_rank(*drawn_counts(member, what)));
  }

  // A vector for every bag from each owner, or from each node that has some.
  void add_partial_sums() {
    for (const GroupMember& member : members_) {
      const std::size_t owners =
          group_.crosses() ? owning_nodes(member, per_node_).size() : owning_ranks(member).size();
      const auto vectors = static_cast<double>(owners + 1) * static_cast<double>(member.forward.count);
      group_.partial_bytes += vectors * static_cast<double>(member.forward.bytes);
      group_.partial_gradient_bytes += vectors * static_cast<double>(member.backward.bytes);
    }
  }

  void add_replicas() {
    if (!replicated(group_.strategy)) return;
    for (const GroupMember& member : members_) {
      const auto rows = static_cast<std::int64_t>(member.placement->shard_rows(0));  // the largest shard, on every rank
      group_.replicated_elements += rows * member.placement->columns();
      const std::int64_t row = member.placement->columns() * dtype_bytes(gradient_dtype(*member.table));
      group_.replicated_bytes.push_back(rows * row);
    }
    if (group_.strategy == Strategy::data_parallel) return;
    group_.replicated_bytes = {
        std::accumulate(group_.replicated_bytes.begin(), group_.replicated_bytes.end(), std::int64_t{0})};
  }

  // One for all rank sets, or of a drawn batch one for each where it differs from set to set.
  using Matrices = std::vector<ByteMatrix>;
  Matrices matrix(CarriedPart what) const { return matrix(members_, what); }
  Matrices matrix(const std::vector<GroupMember>& members, CarriedPart what) const {
    Matrices of_sets;
    if (drawn_counts(members.front(), what) == nullptr) {
      of_sets.push_back(exchange_matrix(members, size_, what));  // moved: it may have a number for each pair of ranks
      return of_sets;
    }
    for (const std::vector<int>& set : sets()) of_sets.push_back(drawn_matrix(members, set, what));
    return of_sets;
  }

  std::vector<std::vector<int>> sets() const {
    if (group_.strategy != Strategy::flex) return {all_ranks(world_)};
    return members_.front().placement->holders;
  }

  void add_exchanges() {
    Matrices ids = matrix(&GroupMember::items);
    Matrices lengths = sends_lengths() ? matrix(&GroupMember::lengths) : Matrices{};
    Matrices weights = group_.weighted ? matrix(&GroupMember::weights) : Matrices{};
    Matrices strides = varied_.empty() ? Matrices{} : matrix(varied_, &GroupMember::strides);
    add_shuffled({&ids, &lengths, &strides, &weights});
    const bool full = workload_.full_input_exchange();
    group_.ids = add("_ids", std::move(ids));
    if (full && sends_lengths()) group_.lengths = add("_lengths", std::move(lengths));
    if (full && !strides.empty()) group_.strides = add("_strides", std::move(strides));
    if (full && group_.weighted) group_.weights = add("_weights", std::move(weights));
    if (!group_.reduces()) {
      group_.gradients = add("_grads", matrix(&GroupMember::backward));
      group_.rows = add_rows("", group_.gradients, matrix(&GroupMember::forward));
      return;
    }
    group_.scattered_bytes = reduced_bytes(members_, &GroupMember::forward);
    group_.gathered_bytes = reduced_bytes(members_, &GroupMember::backward);
    if (!group_.crosses()) return;
    const auto between = [&](CarriedPart what) { return Matrices{cross_matrix(members_, nodes_, per_node_, what)}; };
    group_.cross_gradients = add("_cross_grads", between(&GroupMember::cross_backward));
    group_.cross_rows = add_rows("_cross", group_.cross_gradients, between(&GroupMember::cross_forward));
  }

  // Gradients are divided and ordered behind their exchange, in the precision that the codec wrote.
  void add_gradient_bytes() {
    const bool decoded = !group_.converted_gradient.decode.empty();
    const std::vector<GroupMember> members = decoded ? stored(&GroupMember::backward) : std::vector<GroupMember>{};
    group_.gradient_bytes.assign(world_, 0);
    if (!group_.reduces()) {
      if (decoded) return add_received(matrix(members, &GroupMember::backward), group_.gradient_bytes);
      return add_received_gradients();
    }
    const std::vector<std::int64_t> of_sets =
        decoded ? reduced_bytes(members, &GroupMember::backward) : group_.gathered_bytes;
    for (int rank = 0; rank < world_; ++rank) {
      const int set = of_sets.size() > 1 ? rank / per_node_ : 0;
      group_.gradient_bytes[static_cast<std::size_t>(rank)] =
          static_cast<double>(of_sets[static_cast<std::size_t>(set)]);
    }
  }

  // As their exchange brings them; its matrices are not copied, for they may have a number for each pair of ranks.
  void add_received_gradients() {
    const std::vector<std::vector<int>> all = sets();
    for (std::size_t set = 0; set < all.size(); ++set) {
      const ByteMatrix& moved = program_.matrices[static_cast<std::size_t>(group_.gradients.of_set(set))].bytes;
      const std::vector<std::int64_t> of_members = moved.all_received(size_);
      for (std::size_t i = 0; i < all[set].size(); ++i)
        group_.gradient_bytes[static_cast<std::size_t>(all[set][i])] += static_cast<double>(of_members[i]);
    }
  }

  // In the types of the tables.
  std::vector<GroupMember> stored(CarriedPart what) const {
    std::vector<GroupMember> members = members_;
    for (GroupMember& member : members) (member.*what).bytes = member.row_bytes;
    return members;
  }

  MatrixUse add(const std::string& suffix, Matrices of_sets) {
    const std::string name = program_.fusions.back().name + suffix;
    const auto first = static_cast<int>(program_.matrices.size());
    for (std::size_t set = 0; set < of_sets.size(); ++set) {
      program_.matrices.push_back({set == 0 ? name : name + "_of_set_" + std::to_string(set), std::move(of_sets[set])});
    }
    return {first, false, of_sets.size() > 1};
  }

  // The output exchange returns what the exchange of ids asked for: what an owner sends to a source is to the row what
  // the source asked of it. So it moves the matrix of the gradients, transposed, or one of its own where the types on
  // the wire differ.
  MatrixUse add_rows(const std::string& suffix, MatrixUse gradients, Matrices rows_by_source) {
    const bool drawn = drawn_counts(members_.front(), &GroupMember::forward) != nullptr;
    const bool alike = drawn ? same_wire_bytes() : *ResolvedMatrix(program_, gradients) == rows_by_source.front();
    MatrixUse rows = alike ? gradients : add(suffix + "_rows_by_source", std::move(rows_by_source));
    rows.transposed = true;
    return rows;
  }

  // In both directions: what was drawn must not decide how many matrices there are.
  bool same_wire_bytes() const {
    return std::ranges::all_of(members_, [](const GroupMember& m) { return m.forward.bytes == m.backward.bytes; });
  }

  // Partial sums of every bag of the ranks served, and their gradients.
  std::vector<std::int64_t> reduced_bytes(const std::vector<GroupMember>& members, CarriedPart what) const {
    std::vector<std::int64_t> bytes(group_.crosses() ? nodes_ : 1, 0);
    if (group_.strategy == Strategy::row_wise && group_.crosses()) return busiest_of_nodes(members, what);
    for (const GroupMember& member : members) {
      const int node = group_.crosses() ? member.placement->holders.front().front() / per_node_ : 0;
      bytes[node] += size_ * (member.*what).count * (member.*what).bytes;
    }
    return bytes;
  }

  // Every owner writes the partial sums of its shards to those of its node: the one with the most says how many.
  std::vector<std::int64_t> busiest_of_nodes(const std::vector<GroupMember>& members, CarriedPart what) const {
    std::vector<std::int64_t> of_rank(world_, 0), bytes(nodes_, 0);
    for (const GroupMember& member : members) {
      for (const int rank : owning_ranks(member)) {
        of_rank[rank] += size_ * (member.*what).count * (member.*what).bytes;
      }
    }
    for (int rank = 0; rank < world_; ++rank)
      bytes[rank / per_node_] = std::max(bytes[rank / per_node_], of_rank[rank]);
    return bytes;
  }

  // Adds the bytes that pass through the memory of each rank on the way.
  void add_shuffled(const std::vector<const Matrices*>& inputs) {
    group_.owner_inputs.assign(world_, 0);
    group_.owner_bytes.assign(world_, 0);
    for (const Matrices* input : inputs) {
      if (input->empty()) continue;
      group_.sent_inputs += sent(*input);
      add_received(*input, group_.owner_inputs);
    }
    if (group_.pooled()) return;
    add_received(matrix(stored(&GroupMember::backward), &GroupMember::backward), group_.owner_bytes);
  }

  // By every rank: of expected batches as by the first one, though sources may differ by a unit.
  OwnAmount sent(const Matrices& of_sets) const {
    if (members_.front().drawn == nullptr) {
      return OwnAmount::expected(static_cast<double>(of_sets.front().bytes_sent(0, size_)));
    }
    std::vector<double> bytes(world_, 0);
    add_by_rank(of_sets, bytes, &ByteMatrix::all_sent);
    return OwnAmount::drawn(std::move(bytes));
  }

  void add_received(const Matrices& of_sets, std::vector<double>& bytes) const {
    add_by_rank(of_sets, bytes, &ByteMatrix::all_received);
  }

  using SumsOfMembers = std::vector<std::int64_t> (ByteMatrix::*)(int) const;
  void add_by_rank(const Matrices& of_sets, std::vector<double>& bytes, SumsOfMembers sums) const {
    const std::vector<std::vector<int>> all = sets();
    for (std::size_t set = 0; set < all.size(); ++set) {
      const std::vector<std::int64_t> of_members = (of_sets[std::min(set, of_sets.size() - 1)].*sums)(size_);
      for (std::size_t i = 0; i < all[set].size(); ++i) bytes[all[set][i]] += static_cast<double>(of_members[i]);
    }
  }

  Program& program_;
  FusionGroup& group_;
  const std::vector<GroupMember>& members_;
  const Workload& workload_;
  const std::vector<OwnInput>& inputs_;  // [table]
  std::vector<GroupMember> varied_;      // whose features have batches of their own
  bool row_growth_, row_tables_, fills_ahead_;
  KnownShares* known_;
  int world_, nodes_, per_node_, size_;
};

}  // namespace

std::vector<OwnInput> own_inputs_of(const Workload& workload) {
  std::vector<OwnInput> own;
  std::set<std::string> seen;
  for (const Table& table : workload.tables) {
    double ids = 0, own_ids = 0, own_features = 0;
    for (const Feature& feature : table.features) {
      const bool is_new = seen.insert(feature.name).second;
      ids += feature.ids();
      own_ids += is_new ? feature.ids() : 0;
      own_features += is_new ? 1 : 0;
    }
    own.push_back({ids > 0 ? own_ids / ids : 1, own_features / static_cast<double>(table.features.size())});
  }
  return own;
}

void fill(FusionGroup& group, Program& program, const std::vector<GroupMember>& members, const Workload& workload,
          const std::vector<OwnInput>& inputs, const Cluster& cluster, const LoweringOptions& options) {
  GroupMaker(program, group, members, workload, inputs, cluster, options).make();
}

}  // namespace shardsim
