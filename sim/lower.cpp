#include "sim/lower.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/fusion_group.h"
#include "sim/measured_times.h"
#include "sim/program_frame.h"

namespace shardsim {
namespace {

// Streams of a Program, by index: compute, and one per kind of group, as PyTorch keeps one per process group.
enum Stream { kCompute = 0, kWorld = 1, kNode = 2, kCross = 3 };

void require_sequences(const Workload& workload) {
  for (const Table& table : workload.tables) {
    if (table.kind == TableKind::sequence) continue;
    throw input_error(table.place, "table '" + table.name + "' is pooled; this version simulates sequence tables only",
                      "Give it 'kind: sequence', or use the plan and memory figures alone (shardsim plan)");
  }
}

std::string name_of(Strategy strategy) {
  return std::string(strategy_name(strategy));
}

// Writes the operations of one iteration in launch order (docs/lowering.md says why in this order).
class Lowering {
 public:
  Lowering(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options)
      : workload_(workload), options_(options), groups_(fuse(plan, workload, cluster, options)) {
    program_ = program_frame(plan, workload, cluster, groups_);
    if (options.overlap) program_.streams.insert(program_.streams.end(), {"world", "node", "cross"});
  }

  Program take() {
    const bool ahead = workload_.pipeline != "none";
    if (!ahead || workload_.pipeline == "prefetch_sparse_dist") exchange_ids();
    forward();
    if (workload_.pipeline == "sparse_dist") exchange_ids();
    dense();
    backward();
    connect_iterations(ahead);
    if (workload_.dense.measured) hold_measured_times(program_, *workload_.dense.measured);
    return std::move(program_);
  }

 private:
  struct Ops {  // of one fusion group; -1: none
    int ids = -1, lookup = -1, output = -1, gradient_exchange = -1, gradient = -1, reduce = -1, apply = -1;
    int update() const { return apply >= 0 ? apply : gradient; }
  };

  int add(const std::string& name, OpClass op_class, int stream, std::vector<int> after) {
    Op op;
    op.id = static_cast<int>(program_.ops.size());
    op.name = name;
    op.op_class = op_class;
    op.stream = options_.overlap ? stream : 0;
    std::erase(after, -1);
    op.after = std::move(after);
    program_.ops.push_back(std::move(op));
    return program_.ops.back().id;
  }

  Op& op(int id) { return program_.ops[id]; }

  static int stream_of(const FusionGroup& group) { return group.strategy == Strategy::flex ? kNode : kWorld; }

  int add_exchange(const std::string& name, const FusionGroup& group, const std::string& matrix,
                   std::vector<int> after) {
    const int id = add(name, OpClass::all_to_all, stream_of(group), std::move(after));
    op(id).group = group.group;
    op(id).matrix = group.prefix + matrix;
    op(id).dtype = exchange_dtype(group, matrix);
    return id;
  }

  // What is on the wire: ids, or rows in the table's type unless the workload says otherwise for that direction.
  std::string exchange_dtype(const FusionGroup& group, const std::string& matrix) const {
    if (matrix == "_ids") return "int" + std::to_string(8 * workload_.id_bytes);
    const Dtype of_table = workload_.tables[program_.shards[group.shards[0]].table].dtype;
    return dtype_name((matrix == "_rows" ? workload_.wire_forward : workload_.wire_backward).value_or(of_table));
  }

  int add_reduce(const std::string& name, const std::string& group, int stream, std::int64_t bytes,
                 std::vector<int> after) {
    if (program_.groups[group].front().size() < 2) return -1;
    const int id = add(name, OpClass::all_reduce, stream, std::move(after));
    op(id).group = group;
    op(id).bytes = bytes;
    op(id).dtype = "fp32";
    return id;
  }

  static std::string output_name(const FusionGroup& group) {
    return group.strategy == Strategy::flex ? "intra_node_all_to_all" : "global_all_to_all";
  }

  // World exchanges first: they take longest.
  void exchange_ids() {
    for (std::size_t index = groups_.size(); index-- > 0;) {
      if (groups_[index].exchanges()) ops_[index].ids = add_exchange("input_all_to_all", groups_[index], "_ids", {});
    }
  }

  // Without a pipeline the host waits for every exchange of ids before it launches a lookup.
  std::vector<int> ids_before_lookup() const {
    std::vector<int> ids;
    if (workload_.pipeline != "none") return ids;
    for (const Ops& ops : ops_) ids.push_back(ops.ids);
    std::erase(ids, -1);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  void forward() {
    for (std::size_t index = 0; index < groups_.size(); ++index) {
      const FusionGroup& group = groups_[index];
      Ops& ops = ops_[index];
      ops.lookup = add("lookup_" + name_of(group.strategy), OpClass::lookup, kCompute, ids_before_lookup());
      op(ops.lookup).shards = group.shards;
      op(ops.lookup).lookups.values = group.lookups;
      op(ops.lookup).hbm_bytes.values = group.lookup_bytes;
      if (group.exchanges()) op(ops.lookup).matrix_in = group.prefix + "_ids";
      if (group.exchanges()) ops.output = add_exchange(output_name(group), group, "_rows", {ops.lookup});
    }
  }

  std::vector<int> outputs() const {
    std::vector<int> ids;
    for (const Ops& ops : ops_) ids.push_back(ops.output >= 0 ? ops.output : ops.lookup);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  // A pass over the rows of the whole batch: restores the order of the items, or takes the gradient apart.
  int add_shuffle(const std::string& name, std::vector<int> after) {
    const int id = add(name, OpClass::dense, kCompute, std::move(after));
    double bytes = 0;
    for (const FusionGroup& group : groups_) bytes += 2 * group.own_bytes;
    op(id).hbm_bytes.values = {bytes};
    return id;
  }

  bool exchanges() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const FusionGroup& group) { return group.exchanges(); });
  }

  // A measured rest holds the shuffles already.
  void dense() {
    before_backward_ = outputs();
    const bool shuffles = !workload_.dense.measured && exchanges();
    if (shuffles) before_backward_ = {add_shuffle("tier_merge", before_backward_)};
    if (workload_.dense.measured || !workload_.dense.layers.empty()) {
      const int forward = add("dense_forward", OpClass::dense, kCompute, before_backward_);
      const int backward = add("dense_backward", OpClass::dense, kCompute, {forward});
      op(forward).flops.values = {forward_flops()};
      op(backward).flops.values = {2 * forward_flops()};
      before_backward_ = {backward};
      dense_ = backward;
    }
    if (shuffles) before_backward_ = {add_shuffle("tier_split_gradient", before_backward_)};
  }

  // 2 in out per sample or item.
  double forward_flops() const {
    double items = 0;
    for (const Table& table : workload_.tables) items += table.distribution().total();
    double flops = 0;
    for (const DenseLayer& layer : workload_.dense.layers) {
      const double of_layer =
          2.0 * static_cast<double>(layer.in) * static_cast<double>(layer.out) * static_cast<double>(layer.repeat);
      flops += layer.per_item ? of_layer * items : of_layer;
    }
    return flops * static_cast<double>(workload_.batch_per_gpu);
  }

  // Exchanges launch in the reverse order of the forward pass, and their consumers run in that order, as autograd does.
  void backward() {
    for (std::size_t index = groups_.size(); index-- > 0;) {
      if (!groups_[index].exchanges()) continue;
      ops_[index].gradient_exchange =
          add_exchange(output_name(groups_[index]), groups_[index], "_grads", before_backward_);
    }
    for (std::size_t index = groups_.size(); index-- > 0;) add_gradient(groups_[index], ops_[index]);
    dense_optimizer();
    for (std::size_t index = groups_.size(); index-- > 0;) add_apply(groups_[index], ops_[index]);
  }

  void add_gradient(const FusionGroup& group, Ops& ops) {
    const bool copies = replicated(group.strategy);
    std::vector<int> after = before_backward_;
    if (ops.gradient_exchange >= 0) after = {ops.gradient_exchange};
    ops.gradient = add((copies ? "gradient_" : "update_") + name_of(group.strategy), OpClass::update, kCompute, after);
    Op& gradient = op(ops.gradient);
    gradient.shards = group.shards;
    gradient.lookups.values = group.lookups;
    gradient.hbm_bytes.values = group.gradient_bytes;
    gradient.distinct_rows.values = group.distinct_rows;
    gradient.optimizer = copies ? "none" : workload_.optimizer;
    if (!copies) return;
    const bool flex = group.strategy == Strategy::flex;
    ops.reduce = add_reduce(flex ? "cross_node_all_reduce" : "global_all_reduce", flex ? "cross_node" : "world",
                            flex ? kCross : kWorld, group.replicated_bytes, {ops.gradient});
  }

  void add_apply(const FusionGroup& group, Ops& ops) {
    if (!replicated(group.strategy)) return;
    ops.apply = add("apply_" + name_of(group.strategy), OpClass::update, kCompute,
                    {ops.reduce >= 0 ? ops.reduce : ops.gradient});
    op(ops.apply).shards = group.shards;
    op(ops.apply).hbm_bytes.values = {group.apply_bytes};
    op(ops.apply).distinct_rows.values = {group.replicated_rows};
    op(ops.apply).optimizer = workload_.optimizer;
  }

  void dense_optimizer() {
    if (workload_.dense.parameters.count <= 0 || dense_ < 0) return;
    const int reduce = add_reduce("dense_all_reduce", "world", kWorld, workload_.dense.parameters.count, {dense_});
    const int step = add("dense_optimizer_step", OpClass::update, kCompute, {reduce >= 0 ? reduce : dense_});
    op(step).hbm_bytes.values = {3.0 * static_cast<double>(workload_.dense.parameters.count)};
    op(step).optimizer = workload_.optimizer;
  }

  // Rows must be updated before the next iteration reads them. Without a pipeline the next exchange of ids follows the
  // last operation of this iteration; with one, the ids that a lookup needs came during the iteration before.
  void connect_iterations(bool ahead) {
    const int last = last_compute();
    for (Ops& ops : ops_) {
      op(ops.lookup).after_previous = {ops.update()};
      if (ops.ids < 0) continue;
      if (ahead) {
        op(ops.lookup).after_previous.insert(op(ops.lookup).after_previous.begin(), ops.ids);
      } else {
        op(ops.ids).after_previous = {last};
      }
    }
  }

  int last_compute() const {
    for (std::size_t id = program_.ops.size(); id-- > 0;) {
      if (!program_.ops[id].is_collective()) return static_cast<int>(id);
    }
    return 0;
  }

  const Workload& workload_;
  const LoweringOptions& options_;
  std::vector<FusionGroup> groups_;
  std::vector<Ops> ops_ = std::vector<Ops>(groups_.size());
  std::vector<int> before_backward_;
  int dense_ = -1;
  Program program_;
};

}  // namespace

Program lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options) {
  require_sequences(workload);
  return Lowering(plan, workload, cluster, options).take();
}

}  // namespace shardsim
