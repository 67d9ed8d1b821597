#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/access/access_distribution.h"
#include "models/load/draws.h"
#include "models/load/length_law.h"
#include "models/load/row_owners.h"

namespace shardsim {

enum class Dtype { fp32, fp16, bf16, int8, fp8, mx4 };  // fp8 and mx4 only on the wire
enum class TableKind { sequence, pooled };

// The ids of a bag: all drawn independently, or all determined by the first one (models/load/row_shares.h).
enum class BagIds { independent, first_id };

int dtype_bytes(Dtype dtype);  // of mx4, which has half of one and its exponents, as TorchRec's planner counts it
double least_wire_bytes(Dtype dtype);  // of an element, without scales
std::string dtype_name(Dtype dtype);

// The type of vectors, or of their gradients, while they are exchanged.
struct WireDtype {
  std::optional<Dtype> dtype;  // none: that of their table's rows
  bool operator==(const WireDtype&) const = default;
};

struct Feature {
  std::string name;
  double pooling_factor = 1;  // mean items per sample; of a sequence table, its average length over its features
  double num_poolings = 1;
  bool weighted = false;
  bool weight_gradient =
      true;  // weighted: the backward pass computes the gradient of its ids' weights, as FBGEMM's does
  std::optional<std::int64_t> batch = {};  // its own samples of a rank (TorchRec's stride per key); none: the batch

  double ids() const { return pooling_factor * num_poolings; }  // expected, of a sample
  bool operator==(const Feature&) const = default;
};

struct Workload;

// One embedding table: `rows` x `dim` elements of `dtype`, rows in popularity order.
struct Table {
  std::string name;
  std::uint64_t rows = 0;
  std::int64_t dim = 0;
  Dtype dtype = Dtype::fp32;
  TableKind kind = TableKind::sequence;
  std::string pooling = "sum";
  std::vector<Feature> features;
  double average_length = 0;  // L: expected items per sample over all features
  LengthSpec lengths;         // of its bags, or of its sequences; only drawn batches vary
  AccessSpec access;          // of the rows, after any hashing of raw ids; with BagIds::first_id of the first ids
  bool access_stated = true;  // false: the file says nothing of it, and uniform is the default
  RowOrder row_order = RowOrder::random;
  BagIds bag_ids = BagIds::independent;
  bool sharded = true;       // false: nn.EmbeddingBag or nn.Embedding, which DDP replicates as it does the dense part
  bool index_dedup = false;  // sequence: each rank asks for an id once per batch, and copies its vector
  std::optional<ObservedAccess> runtime;
  // The key by which placements of its rows are drawn, the same whatever the table is called; "": its name.
  std::string row_key;
  // Rows that joined after a hash had placed the others (drift): the least popular ones.
  std::uint64_t joined_rows = 0;
  std::string module;  // its path in plan files; "": that of the workload for tables of its kind
  std::optional<WireDtype> wire_forward, wire_backward;  // its own; absent: those of the workload
  Place place;                                           // of its entry in the file

  std::int64_t row_bytes() const { return dim * dtype_bytes(dtype); }
  AccessDistribution distribution() const { return {access, rows, average_length, place}; }
  // True when every sample has one vector for each feature: pooled tables, and sequences of one item.
  bool vector_per_feature() const;
  // The law of the lengths of one feature's bags. Errors as of LengthLaw, at the table's place.
  LengthLaw length_law(const Feature& feature) const { return {lengths, feature.pooling_factor, place}; }
  bool operator==(const Table& other) const;  // of what the file states: no places, no keys, no stated defaults
};

// The key by which the hash that places the table's rows knows it.
const std::string& row_key(const Table& table);
// Returns how many rows joined a placement that ends with the row before `row_end`.
std::uint64_t joined_rows(const Table& table, std::uint64_t row_end);

// Attention of the items of a sample to each other: scores of pairs and their sums, nothing that is trained.
struct Attention {
  std::int64_t heads = 0, head_dim = 0;
  double length = 0;        // items of a sample, on average
  bool causal = true;       // to items up to the own one
  std::vector<int> tables;  // of the workload, whose sequences the items are; none: every sample has `length` of them

  // A table whose sequences differ from sample to sample.
  struct Varying {
    int table = 0;
    double mean = 0;  // items of a sample
    double skew = 0;  // third central moment / variance
    bool operator==(const Varying&) const = default;
  };
  std::vector<Varying> varying;  // of `tables`
  double variance = 0;           // of the items of a sample

  // Pairs of a sample, per head: the mean over samples, and those of a sample with so many items.
  double pairs() const { return causal ? (length * (length + 1) + variance) / 2 : length * length + variance; }
  double pairs_of(double items) const { return causal ? items * (items + 1) / 2 : items * items; }
  // Expected pairs of `samples` samples whose sequences have so many items in all, by table of the workload.
  double pairs_of(double samples, const std::vector<double>& items_by_table) const;
  bool operator==(const Attention&) const = default;
};

// The part of PyTorch's nn.MultiheadAttention that a layer is, over items that attend to themselves.
enum class AttentionPart { none, in_projection, scores, out_projection };
// A norm behind a layer in place of an activation: nn.LayerNorm, or TorchRec's x * sigmoid(LayerNorm(x)).
enum class NormKind { none, layer_norm, swish_layer_norm };

// One product of the dense part: 2 in out FLOP per sample (or per item) forward, twice that backward. Attention takes 4
// head_dim FLOP per head and pair forward, 2.5 times that backward.
struct DenseLayer {
  std::string name;
  std::int64_t in = 0, out = 0, repeat = 1;
  bool per_item = false;
  bool weights = true;  // false: a product of activations (the dot interaction), which has no parameters
  std::optional<Attention> attention = {};  // `in` and `out` are then the columns of all heads
  // Tensors of `out` columns that passes behind it read and write forward (norm, gating: 2 each); absent: of a bias and
  // an activation. 1.5 times as many backward.
  std::optional<double> elementwise = {};
  AttentionPart part = AttentionPart::none;
  std::optional<Attention> items = {};  // of a projection of items, whose they are; absent: of all sequence tables
  bool residual = false;                // its input is added to its output; of the block, at its last layer
  NormKind norm = NormKind::none;       // of the sum
  bool mean_of_items = false;           // behind the norm
  // True where nothing is said of what lies behind it: a bias and an activation.
  bool usual_passes() const {
    return !elementwise && part == AttentionPart::none && !residual && norm == NormKind::none && !mean_of_items;
  }
  bool operator==(const DenseLayer&) const = default;
};

// Layers whose names begin with "bottom" take no embeddings: they run beside the output exchanges.
bool is_bottom(const DenseLayer& layer);

// The rest of an iteration known as one measured number, split by class.
struct MeasuredRest {
  Seconds rest;
  bool fitted = false;
  std::string source;
  std::int64_t batch = 0;             // samples per GPU at which all times are; 0: of any, they are the same
  bool simulates_embeddings = false;  // lookups and updates are simulated, and no part of it
  struct Part {
    Seconds time;
    std::string reason;
    std::optional<Seconds> per_sample = {};  // by which another batch takes longer
    Seconds waiting = {};                    // of `time`, for the host: longer kernels fill it
    bool operator==(const Part&) const = default;
  };
  Seconds host;  // that the host needs for an iteration of another batch: a shorter one waits for it
  Part id_exchange, lookup, dense_forward, dense_backward, update;
  std::vector<std::string> notes = {};  // on the trace that all of it was taken from; sentences
  bool operator==(const MeasuredRest&) const = default;
};

// Rows that lie in host memory between the lookup and the update of a batch (TorchRec's memory stashing).
struct Stash {
  std::string restore_at;         // the layer whose backward pass starts their way back, or kRestoreAtGradients
  std::vector<std::string> keep;  // tables that stay
  Place place;
  bool operator==(const Stash& other) const { return restore_at == other.restore_at && keep == other.keep; }
};
inline constexpr const char* kRestoreAtGradients = "gradients";  // with their exchange, behind all layers above it

// 2D parallelism, TorchRec's DMPCollection: the world in groups of equal size, each of which holds all tables by the
// same plan, and in the replica groups across them, which average rows and optimizer states.
struct ShardingGroups {
  std::int64_t size = 0;     // ranks of a sharding group
  bool consecutive = false;  // a group is a block of ranks, and replicas are `size` apart; false: they are neighbours
  // Between the lookup and the update of a batch a replica keeps its share of the rows, averaged on the way.
  bool fully_sharded = false;
  std::int64_t sync_every = 1;  // iterations; 0: never
  bool sync_states = true;      // of the optimizer, too
  Place place;
  bool operator==(const ShardingGroups& other) const {
    return size == other.size && consecutive == other.consecutive && fully_sharded == other.fully_sharded &&
           sync_every == other.sync_every && sync_states == other.sync_states;
  }
};

// How vectors and gradients get the type that they have on the wire (TorchRec's QCommsConfig).
struct WireCodec {
  bool kernels = false;  // passes of their own convert them; false: lookups write it, and updates read it
  // Elements of fp8 and int8 that share a scale and an offset, two numbers of 4 bytes; 0: none have.
  std::int64_t forward_rows = 0, backward_rows = 0;
  std::int64_t mx4_group = 32;  // elements of mx4 that share an exponent, one byte
  bool operator==(const WireCodec&) const = default;
};

// The pipeline fused_sparse_dist (TorchRec's TrainPipelineFusedSparseDist): where and when it looks a batch up.
struct LookupLaunch {
  std::string stream = "data_dist";  // data_dist, new, current
  bool after_input_dist = false;     // the host launches it behind the input of the next batch
  bool operator==(const LookupLaunch&) const = default;
};

// A stage of the pipeline `staged` (TorchRec's StagedTrainPipeline), on a stream of its own.
struct PipelineStage {
  std::string does = "copy";  // copy, transform, input_dist, prefetch
  Bytes bytes;                // that a transform reads and writes in device memory
  bool operator==(const PipelineStage&) const = default;
};

// The parts of a batch's input that stay in device memory after they were used, until the batch is through.
struct InputsKept {
  bool batch = false;  // as it came from the host; else until it was permuted
  bool sent = false;   // what the exchange of ids sends; else until it is sent
  bool operator==(const InputsKept&) const = default;
};

// The all-reduce of the dense part's gradients over all ranks.
struct DenseAllReduce {
  bool one_call = false;      // all of them in one, with those of replicated tables; false: bucket by bucket
  Dtype dtype = Dtype::fp32;  // on the wire
  bool operator==(const DenseAllReduce&) const = default;
};

struct DensePart {
  std::vector<DenseLayer> layers;                             // those of the interaction among them
  bool input_gradient = false;                                // of the first layer: it works on embeddings
  Bytes parameters;                                           // all-reduced per iteration
  std::string precision = "fp32";                             // of the products: fp32, tf32, fp16, bf16
  std::string interaction = "none";                           // none, dot, dcn
  std::int64_t interaction_layers = 0, interaction_rank = 0;  // dcn
  // Copies of all vectors that the model makes on their way to the first layer above the bottom ones, as stated; 0: one
  // is counted, whose life in memory is not followed.
  std::int64_t concatenations = 0;
  DenseAllReduce all_reduce;
  std::string optimizer;  // as stated; "": that of the workload
  std::optional<MeasuredRest> measured;
  bool operator==(const DensePart&) const = default;
};

// True when lookups and updates take a measured time, whatever the plan.
bool holds_embeddings(const DensePart& dense);

// If the workload states none, it is fp32 whatever the type of the rows, because TorchRec's lookups return fp32 by
// default (pytorch/FBGEMM fbgemm_gpu/split_table_batched_embeddings_ops_training.py, output_dtype).
Dtype wire_dtype(const std::optional<WireDtype>& stated, const Table& table);

// Those of the table's vectors and of their gradients, as the table states them, or else the workload.
Dtype forward_wire(const Workload& workload, const Table& table);
Dtype backward_wire(const Workload& workload, const Table& table);

// Type of the gradient of replicated rows, as PyTorch's DistributedDataParallel reduces it: that of the rows; fp32
// where these are integers, which have no gradient of their own.
Dtype gradient_dtype(const Table& table);

inline TableKind other_kind(TableKind kind) {
  return kind == TableKind::pooled ? TableKind::sequence : TableKind::pooled;
}

// The part of a workload that every lookup, exchange and update of its tables follows, whatever the dense part and the
// pipeline are: all that a placement alone takes of it (study/planning/placement_load.cpp).
struct EmbeddingRules {
  std::int64_t batch_per_gpu = 0;
  // Batches whose dense gradients are added up before one all-reduce and one step of the optimizer (DDP's no_sync).
  std::int64_t accumulate = 1;
  std::string optimizer = "rowwise_adagrad";  // sgd, rowwise_adagrad, adagrad, adam, lamb
  // "fused": one lookup and one update serve many tables (FBGEMM). "per_table": one of each per table, whose gradients
  // are first expanded to a row per lookup, then summed by row and applied (sparse gradients of TensorFlow). "hugectr":
  // as its embedding collections do, with pointers before the lookup and the index work of the update apart from it
  // (docs/lowering.md, "HugeCTR").
  std::string embedding_kernels = "fused";
  // The steps of an exchange of ids: "none" (each rank already has the ids that it looks up), only "ids", "full"
  // (splits, lengths, ids, weights and the wait of the host, as in TorchRec), or "auto", which is ids if all tables are
  // sequences and there is no pipeline, or if the rest of the iteration is measured, and otherwise full.
  std::string input_exchange = "auto";
  // The exchange that brings partial sums of pooled row_wise tables to the ranks of their samples: "reduce_scatter"
  // over the world (TorchRec), or as HugeCTR does: "uniform", a vector from every owner, or "hierarchical", which adds
  // them up in the node of the owners first (docs/lowering.md, "Partial sums").
  std::string output_exchange = "reduce_scatter";
  // The optimizer passes over every row that is held, not over those alone that have a gradient.
  bool update_all_rows = false;
  // Kernels with a cache keep the rows of the latest batches (lru), or the most popular ones (lfu).
  std::string cache_policy = "lru";
  int id_bytes = 8;
  std::optional<WireDtype> wire_forward, wire_backward;  // as stated; what is simulated without it: wire_dtype
  WireCodec wire_codec;
  std::string pooled_module = "ebc", sequence_module = "ec";
  bool modules_apart = false;  // every module has exchanges of its own, as TorchRec's collections do

  bool operator==(const EmbeddingRules&) const = default;
};

struct Workload : EmbeddingRules {
  std::string name;
  std::string summary;
  std::vector<Table> tables;
  DensePart dense;
  // base, sparse_dist, fused_sparse_dist, prefetch_sparse_dist, semi_sync, staged, hugectr
  std::string pipeline = "none";
  LookupLaunch fused_lookup;          // of fused_sparse_dist
  std::vector<PipelineStage> stages;  // of staged, the newest batch first
  InputsKept inputs_kept;
  std::optional<Stash> stash;
  std::optional<SampleFactor> sample_factor;      // of the tables with common lengths
  std::optional<ShardingGroups> sharding_groups;  // none: all ranks are one
  std::optional<TableKind> first_module;          // in the forward pass, as stated
  std::vector<SourcedValue> sources;

  bool operator==(const Workload&) const = default;
  bool has_runtime() const;
  // Whose module comes first in the forward pass: as stated, else that of the first table.
  TableKind first_kind() const { return first_module.value_or(tables.front().kind); }
  bool has_both_kinds() const;       // pooled tables and sequences
  bool full_input_exchange() const;  // `input_exchange`, with auto resolved
  bool hugectr_kernels() const { return embedding_kernels == "hugectr"; }
  bool hugectr_hybrid() const { return embedding_kernels == "hugectr_hybrid" || hugectr_in_line(); }
  bool hugectr_in_line() const { return embedding_kernels == "hugectr_hybrid_in_line"; }
  bool hugectr_rows() const { return hugectr_kernels() || hugectr_hybrid(); }  // beside the dense part
  bool hugectr_pipeline() const { return pipeline == "hugectr"; }
  bool base_pipeline() const { return pipeline == "base"; }   // the next batch is copied, all else is in line
  bool semi_sync() const { return pipeline == "semi_sync"; }  // the next batch is looked up before the update
  bool fused_sparse_dist() const { return pipeline == "fused_sparse_dist"; }  // looks up beside the dense optimizer
  bool staged() const { return pipeline == "staged"; }
  bool fetches_ahead() const;  // the pipeline fills caches for the next batch
};

// Samples of one rank that have the feature: its own batch, or else that of the workload.
std::int64_t batch_of(const Feature& feature, std::int64_t batch_per_rank);
// Samples of one rank that ask the table for an id on average, by the ids of its features.
double batch_of(const Table& table, std::int64_t batch_per_rank);
// True where a batch of its own differs from that of the workload.
bool varies_batch(const Table& table, std::int64_t batch_per_rank);

// Bytes of optimizer state per row of `dim` elements; states are fp32 (docs/formats/workload.md, "optimizer").
std::int64_t optimizer_row_bytes(const std::string& optimizer, std::int64_t dim);

// Reads a workload map (its `base` already merged); `folder` resolves relative file names. Every access distribution is
// built once, so what is returned can be planned. Errors: Failure::input with place.
Workload read_workload(const Tree& tree, const std::string& folder);

}  // namespace shardsim
