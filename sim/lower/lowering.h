#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/lower/dense/dense_steps.h"
#include "sim/lower/fusion_group.h"
#include "sim/lower/host/host_times.h"
#include "sim/lower/lower.h"

namespace shardsim {

// Streams of a lowered Program (docs/lowering.md, "Groups and streams"): compute, one per kind of group, as PyTorch
// keeps one per process group, and with a full exchange of input those that TorchRec's pipelines have besides.
// HugeCTR has one for what its update needs beside the dense part, and stashed rows leave on one of their own, as rows
// do that go back to a key-value store.
// 2D parallelism has one for each of its kinds of groups, lookups may have one, and each transform of a batch has one:
// `transform` and those behind it.
enum class Stream {
  compute,
  world,
  node,
  cross,
  memcpy,
  data_dist,
  prefetch,
  host,
  side,
  stash,
  sharding,
  replica,
  lookup,
  store,
  transform
};

inline Stream transform_stream(std::size_t number) {
  return static_cast<Stream>(static_cast<std::size_t>(Stream::transform) + number);
}

// Sizes, tables, shards, groups, the stream `compute`; no matrices and operations (program_frame.cpp).
Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster,
                      const LoweringOptions& options);

// Operations of one fusion group; -1 or empty: none.
struct GroupOps {
  int ids = -1;                  // the exchange of its ids
  std::vector<int> lookups;      // [part]
  std::vector<int> indices;      // [part] index_rows; empty: the updates sort for themselves
  int output = -1;               // the last operation of the output
  int owned_rows = -1;           // hybrid embedding on one node: owners give all ranks their frequent rows
  int gradient_exchange = -1;    // the last one of the exchange of gradients
  std::vector<int> gradients;    // [part] fused updates, or summed gradients
  std::vector<int> accumulated;  // [part] these added to those of earlier batches; -1: they are not
  std::vector<int> reductions;   // all-reduces of replicated rows
  std::vector<int> applies;      // [part], -1 where the update is fused
  std::vector<int> scatters;     // [part] of rows among replicas; -1: they stay as they are
  int update(std::size_t part) const { return applies[part] >= 0 ? applies[part] : gradients[part]; }
};

// The work behind lower(): writes the operations of one iteration in launch order (docs/lowering.md says why in this
// order). Its functions are in the files that are named ahead of them.
class Lowering {
 public:
  // `groups`: sharding groups of the world, of one of which the plan and the cluster are.
  Lowering(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options,
           int groups);
  // `cluster`: whose hosts launch it, where software is stated.
  Program take(const Cluster& cluster);

 private:
  HostWork host_work(const Cluster& cluster) const;

  // pipelines.cpp: calls the steps in the order of the workload's pipeline, and says which wait for the iteration
  // before.
  void ids_alone();
  void in_line();
  void inputs_in_line();
  std::vector<int> collections_in_line();
  void base();
  void sparse_dist();
  void prefetch_sparse_dist();
  void semi_sync();
  void fused_sparse_dist();
  void staged();
  void transform();
  void hugectr();
  void connect_iterations();
  std::vector<int> came_before(const GroupOps& ops) const;

  // input_exchange.cpp: the way of a batch's ids to the ranks that look them up, in TorchRec's order
  // (docs/lowering.md, "The exchange of ids"). Each step may belong to this batch or, in a pipeline, to a later one.
  void exchange_ids_only();                                    // one call per fusion group, world before node
  int deduplicate_ids(Stream stream, std::vector<int> after);  // -1: no table removes duplicates
  void copy_to_device();
  void permute();
  void exchange_splits();  // after permute()
  void wait_for_splits();  // host
  void exchange_inputs();  // after the wait: lengths, ids, weights
  void recat();
  void prefetch_rows();  // after recat(); nothing without cached tables
  // The prefetch of the next batch, where it writes to the cache of the part; -1: it has none, or is not filled ahead.
  int prefetch_beside(const LookupPart& part) const;
  void keep_from_updates();

  // row_store.cpp: what the host does for tables in key-value stores, ahead of that and behind it (docs/lowering.md,
  // "Key-value stores").
  int fetch_stored_rows(Stream on, const std::vector<int>& after);  // -1: no table is in one
  void write_stored_rows(int fetch, int prefetch);
  int add_stored(const char* name, OpRole role, Stream on, const std::vector<int>& after);
  void connect_stores();
  // TorchRec's collections, each of which waits for its ids and looks them up before the next one begins.
  bool one_by_one() const { return workload_.modules_apart && full() && !pipelined(); }
  bool takes_turn(const FusionGroup& group) const { return turn_ < 0 || group.module == turn_; }
  void connect_pipeline();  // where what a step needs was sent on its way in the previous iteration; once all are added
  Stream stream(Stream wanted) const;
  OwnAmount own_input_bytes() const;
  OwnAmount sum_of(OwnAmount FusionGroup::*amount) const;
  void add_splits(const std::string& matrix, int fusion, const std::string& group, std::int64_t numbers);
  void exchange_inputs_of(const FusionGroup& group, GroupOps& ops);
  std::vector<double> received_bytes() const;
  void say_batches_ahead();
  void say_semi_sync();
  void say_staged();
  void connect_stages();
  void connect_copy();
  void launch_behind_wait();
  std::vector<int> all_ids() const;                                  // those that exist, by id
  int ready() const { return prefetch_ >= 0 ? prefetch_ : recat_; }  // what the lookups wait for; -1: none
  std::string ids_dtype() const { return "int" + std::to_string(8 * workload_.id_bytes); }

  // hugectr_steps.cpp: how HugeCTR's embedding collections bring the keys of the next batch, in two steps with a wait
  // of the host between them, and what they do beside lookups and updates (docs/lowering.md, "HugeCTR").
  void keep_keys();
  void count_keys();     // label and count, exchange of counts, sort by owner
  void exchange_keys();  // behind the wait; then the passes over what came
  void connect_hugectr();
  std::vector<int> updates() const;
  void add_indices();  // nothing where the updates sort for themselves
  void add_fact(Op& op, const LookupPart& part, const std::vector<double>& vector_bytes) const;
  bool index_apart() const { return workload_.hugectr_kernels(); }
  Stream row_stream() const { return workload_.hugectr_rows() ? Stream::side : Stream::compute; }
  // The stream of lookups. Autograd runs the backward pass of a call on the stream of the call, so all operations
  // behind the exchange of gradients run there, too.
  Stream lookup_stream() const;
  // The model calls tables that are not sharded as it calls its dense part.
  Stream stream_of_rows(const FusionGroup& group) const { return group.sharded ? lookup_stream() : Stream::compute; }
  bool looks_up_apart() const { return lookup_stream() != Stream::compute; }
  std::vector<std::size_t> forward_order() const;  // of the groups

  // hugectr_hybrid.cpp: what HugeCTR's hybrid embedding does otherwise (docs/lowering.md, "HugeCTR's hybrid
  // embedding").
  bool hybrid() const { return workload_.hugectr_hybrid(); }
  bool indices_in_line() const { return workload_.hugectr_in_line(); }
  void hybrid_indices();  // behind the exchange of ids, or in front of the lookups; nothing of other embeddings
  void index_behind_updates();
  OwnAmount hybrid_bytes() const;
  bool on_one_node() const { return program_.world_size <= program_.ranks_per_node; }
  void hybrid_backward();  // from behind the top layers on
  void hybrid_in_line();   // the same, nothing beside another
  void frequent_gradients();
  void infrequent_gradients();
  // On one node replicated rows are copies of their owners' rows, which come before the lookup, and whose gradients go
  // back in the place of an all-reduce.
  bool owned(const FusionGroup& group) const;
  static std::vector<double> owned_apply(const LookupPart& part);
  int exchange_owned(const FusionGroup& group, OpRole role, std::vector<int> after);

  // forward_pass.cpp: lookups with their output exchanges, then the dense part. Returns what the backward pass follows.
  std::vector<int> forward();
  void look_up();  // with the output exchanges
  void look_up(const FusionGroup& group, GroupOps& ops);
  std::vector<int> dense_part();
  void connect_outputs();
  std::vector<int> before_lookup() const;
  int add_lookup(const FusionGroup& group, const LookupPart& part, int owned_rows);
  int add_output(const FusionGroup& group, const std::vector<int>& lookups);
  std::vector<int> convert(const std::string& name, OpRole role, const FusionGroup& group,
                           const std::vector<double>& bytes, const std::vector<int>& after,
                           Stream stream = Stream::compute);
  int add_reduced_output(const FusionGroup& group, const std::string& type, const std::vector<int>& lookups);
  void add_unexchanged(std::vector<int>& outputs) const;
  std::vector<int> restore_order();
  std::vector<int> restore_duplicates(std::vector<int> outputs, bool merged);
  int dense_forward(bool bottom, std::vector<int> after);
  bool flops_differ() const;

  // backward_pass.cpp: dense part, exchanges of gradients, updates and all-reduces; behind `forward`.
  void backward(std::vector<int> forward);
  void top_layers();
  void bottom_layers();
  void take_dense_steps();
  int dense_backward(std::size_t step, std::vector<int> after);
  void reduce_buckets(const std::vector<std::int64_t>& buckets, const std::vector<int>& after);
  void exchange_gradients();
  int sum_duplicates(const std::vector<int>& after);
  const std::vector<int>& gradients_of(const FusionGroup& group) const {
    return group.removes_duplicates() ? summed_ : split_;
  }
  int gradient_exchange(const FusionGroup& group, std::vector<int> after);
  std::vector<int> settle(const FusionGroup& group, std::vector<int> after);
  void all_gradients();
  void reduce_in_one_call();
  bool in_one_call() const { return workload_.dense.all_reduce.one_call; }
  bool in_one_reduction(const FusionGroup& group) const {
    return in_one_call() && group.strategy == Strategy::data_parallel && !owned(group);
  }
  void add_gradients(const FusionGroup& group, GroupOps& ops);
  int add_weight_gradient(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after);
  int add_gradient(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after);
  void reduce_replicas(const FusionGroup& group, GroupOps& ops);
  void add_applies(const FusionGroup& group, GroupOps& ops);
  void optimizers();
  void dense_optimizer();

  // ddp_gradients.cpp: dense gradients, which several batches may add up, and tables that are not sharded, whose
  // gradients DDP reduces with those of the dense part (docs/lowering.md, "Accumulated gradients").
  bool accumulates() const { return workload_.accumulate > 1; }
  int batches_added() const { return static_cast<int>(workload_.accumulate); }
  double added_share() const;                                                  // of the batches, all but the first
  std::vector<int> accumulate_step(std::size_t step, std::vector<int> after);  // `after` where there is nothing to add
  int accumulate_rows(const FusionGroup& group, const LookupPart& part, int gradient);
  int clear_rows(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after);
  void take_late_buckets();
  void reduce_late_buckets();
  std::int64_t unsharded_bytes() const;
  DensePart with_unsharded() const;

  // replicas.cpp: of 2D parallelism, the all-reduces that make the copies of the groups equal again.
  void average_replicas();
  void average(const std::string& name, std::vector<std::int64_t> bytes, Dtype dtype);
  // Fully sharded: behind a lookup rows leave for the ranks that hold the same ones, and come back ahead of the update.
  // -1: those of the part stay.
  int scatter_rows(const FusionGroup& group, const LookupPart& part, int lookup);
  int gather_rows(const FusionGroup& group, int scatter, std::vector<int> after);
  void await_scatters();
  int add_sharded(const char* name, OpRole role, const FusionGroup& group, std::vector<int> after);
  std::vector<std::int64_t> held_bytes(const std::function<std::int64_t(const Program::Shard&)>& row_bytes) const;

  // stashing.cpp: rows in host memory between the lookup and the update (docs/lowering.md, "Stashing").
  void stash_rows();
  void restore_rows();                              // once; behind what runs on the compute stream so far
  void restore_rows_before(const DenseStep& step);  // where one of its layers is that of the workload
  std::vector<double> stashed_bytes() const;
  bool stays(int shard) const;

  // dense_by_layer.cpp: where software is stated, what each layer does.
  void put_forward_work(int id, bool bottom);
  void put_backward_work(int id, const std::vector<LayerRun>& layers);
  void put_optimizer_work(int id);
  void put_work(int id, const std::function<DenseWork(const DenseStyle&)>& of_style);

  // op_list.cpp: appends operations to the Program. Ids below 0 in `after` are left out: there was nothing to wait for.
  // A stream that the Program lacks is `compute`.
  int add(const std::string& name, Purpose purpose, Stream stream, std::vector<int> after);
  // A pass over bytes of device memory, the same on all ranks or one number each.
  int add_pass(const std::string& name, Purpose purpose, Stream stream, std::vector<double> hbm_bytes,
               std::vector<int> after);
  // A collective on its group's stream. -1, and nothing added: the group has one member, or there is nothing to move.
  int add_exchange(const std::string& name, Purpose purpose, const std::string& group, MatrixUse matrix,
                   const std::string& dtype, std::vector<int> after);
  int add_reduction(const std::string& name, Purpose purpose, const std::string& group,
                    const std::vector<std::int64_t>& bytes_by_set, const std::string& dtype, std::vector<int> after);
  // An operation on the rows of a part, "lookup_" and the like before the strategy's name.
  Op& add_row_work(const char* what, OpRole role, const FusionGroup& group, const LookupPart& part,
                   const std::vector<int>& after, Stream stream = Stream::compute);
  // A pass over the vectors of a group, which are read and written; bytes of one number, or by rank.
  int add_vector_pass(const std::string& name, OpRole role, const FusionGroup& group, std::vector<double> vectors,
                      std::vector<int> after, Stream stream = Stream::compute);
  Stream stream_of(const std::string& group, OpRole role) const;
  std::size_t members_of(const std::string& group, OpRole role) const;
  int stream_number(Stream stream) const;  // in the Program
  Op& op_at(int id) { return program_.ops[static_cast<std::size_t>(id)]; }
  int last_compute() const;  // last operation that is no collective

  bool full() const { return workload_.full_input_exchange(); }  // the exchange of ids in all its steps
  // The exchange of ids works ahead.
  bool pipelined() const { return workload_.pipeline != "none" && !workload_.base_pipeline(); }
  // The exchange of ids is in the forward pass, that of a later batch behind it.
  bool sends_behind_forward() const {
    return workload_.pipeline == "sparse_dist" || workload_.semi_sync() || workload_.fused_sparse_dist() ||
           workload_.staged();
  }
  bool shuffles() const { return !workload_.dense.measured; }  // passes over vectors; a measured rest holds them
  bool exchanges() const;
  OwnAmount tier_bytes() const;  // of tier_merge and tier_split_gradient; with ids alone they order the vectors of all
  // The precision of the dense part, as Op has it.
  std::string precision() const { return workload_.dense.precision == "fp32" ? "" : workload_.dense.precision; }

  const Workload& workload_;
  int sharding_groups_;                  // of the world; the Program is that of one until it is done
  const Software* software_;             // null: none is stated
  bool launches_;                        // by the host, as an operation each
  std::map<int, double> operators_;      // [operation] of the dense part, for the host
  const std::vector<RankItems>* items_;  // [rank] of a drawn batch; null: the expected ones
  Program program_;
  std::vector<FusionGroup> groups_;
  std::vector<Stream> streams_;  // index in Program::streams; empty where nothing overlaps
  std::vector<GroupOps> ops_;    // [group]
  int turn_ = -1;                // the module whose input and lookups are written; -1: all of them

  int stash_ = -1, restore_ = -1;
  std::vector<std::pair<int, int>> stores_;  // rows fetched, and written back behind them
  std::vector<int> averages_;                // of replicas
  std::vector<int> transforms_;              // of a batch, in its stages
  int copy_ = -1, permute_first_ = -1, permute_ = -1, wait_ = -1, recat_ = -1, fetch_ = -1, prefetch_ = -1;
  int index_ = -1;                    // of the hybrid embedding
  int keep_ = -1, sort_ = -1;         // of HugeCTR's pipeline
  std::vector<int> splits_, inputs_;  // their exchanges

  // The state of the backward pass.
  std::vector<DenseStep> steps_;
  std::vector<PerRank> step_flops_;  // [step]
  std::size_t step_ = 0;
  const std::vector<std::int64_t>* held_ = nullptr;
  std::vector<int> before_;       // the pass so far
  std::vector<int> dense_;        // the dense part
  std::vector<int> split_;        // gradients of the embeddings
  std::vector<int> summed_;       // the same, of duplicates summed
  std::vector<int> reductions_;   // of the dense part
  std::vector<LateBucket> late_;  // of tables that are not sharded, the last group first
};

}  // namespace shardsim
