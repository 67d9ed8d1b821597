// Checks of a workload that has been read: keys that cannot be used together, and keys that meet nothing.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

bool is_sequence(const Table& table) {
  return table.kind == TableKind::sequence;
}

// TorchRec's modules are of one kind of table each.
void check_modules(const Workload& workload) {
  std::map<std::string, const Table*> first_of;
  for (const Table& table : workload.tables) {
    if (!table.sharded) continue;  // in no module
    const std::string usual = table.kind == TableKind::pooled ? workload.pooled_module : workload.sequence_module;
    const Table* const first = first_of.try_emplace(table.module.empty() ? usual : table.module, &table).first->second;
    if (first->kind == table.kind) continue;
    throw input_error(table.place,
                      fmt::format("tables '{}' and '{}' are in one module and of two kinds", first->name, table.name),
                      "Pooled tables and sequences have modules of their own: name another 'module'");
  }
}

// TorchRec's EmbeddingBagCollection has weights for all of its ids or for none (is_weighted), and it is HugeCTR's
// collections, not TorchRec's, that HugeCTR's kernels and pipeline are of.
void check_modules_apart(const Workload& workload) {
  if (!workload.modules_apart) return;
  if (workload.hugectr_rows() || workload.hugectr_pipeline())
    throw input_error(workload.tables.front().place,
                      "modules.exchanges: each is how TorchRec's collections work, and this workload is HugeCTR's",
                      "Leave modules.exchanges out, or take TorchRec's embedding_kernels and pipeline");
  std::map<std::string, std::pair<const Table*, bool>> first_of;
  for (const Table& table : workload.tables) {
    if (table.kind != TableKind::pooled || !table.sharded) continue;
    for (const Feature& feature : table.features) {
      const std::string path = table.module.empty() ? workload.pooled_module : table.module;
      const auto& [first, weighted] = first_of.try_emplace(path, &table, feature.weighted).first->second;
      if (weighted == feature.weighted) continue;
      const Table& with = weighted ? *first : table;
      throw input_error(table.place,
                        fmt::format("tables '{}' and '{}' are in module {}, and only ids of '{}' have weights",
                                    first->name, table.name, path, with.name),
                        "TorchRec's EmbeddingBagCollection has weights for all of its ids or for none: give tables "
                        "with weights a 'module' of their own, or leave modules.exchanges out");
    }
  }
}

void check_ids_in_place(MapReader& reader, const Workload& workload) {
  if (workload.input_exchange != "none") return;
  const Place place = reader.place_of("input_exchange");
  if (workload.pipeline != "none")
    throw input_error(place, "a pipeline prepares the exchange of ids, and this workload has none",
                      "Set pipeline: none");
  if (std::ranges::any_of(workload.tables, is_sequence))
    throw input_error(place, "ids of sequence tables must be exchanged", "Choose auto, full or ids");
}

// HugeCTR's embedding collections are of pooled tables, and its pipeline is the exchange of keys in all its steps.
void check_hugectr(MapReader& reader, const Workload& workload) {
  if (!workload.hugectr_kernels() && !workload.hugectr_pipeline()) return;
  const char* const key = workload.hugectr_kernels() ? "embedding_kernels" : "pipeline";
  const auto found = std::ranges::find_if(workload.tables, is_sequence);
  if (found != workload.tables.end())
    throw input_error(reader.place_of(key),
                      fmt::format("'{}: hugectr' needs pooled tables, but table '{}' is a sequence", key, found->name),
                      "Choose another value, or write kind: pooled in the table");
  if (workload.hugectr_pipeline() && !workload.full_input_exchange())
    throw input_error(reader.place_of("pipeline"),
                      "pipeline hugectr simulates the exchange of ids in all its steps, so it needs a full exchange "
                      "and no measured rest",
                      "Set input_exchange: full, and leave out dense.measured");
  if (workload.hugectr_kernels() && workload.dense.measured)
    throw input_error(reader.place_of(key), "'embedding_kernels: hugectr' and dense.measured cannot be used together",
                      "The measured time includes lookups and updates: leave one of the two out");
}

// HugeCTR's hybrid embedding is of one id per sample and feature, and its kernels add to rows as plain SGD does.
void check_hugectr_hybrid(MapReader& reader, const Workload& workload) {
  if (!workload.hugectr_hybrid()) return;
  const Place place = reader.place_of("embedding_kernels");
  const auto found = std::ranges::find_if(workload.tables, [](const Table& table) {
    return table.kind != TableKind::sequence || !table.vector_per_feature();
  });
  if (found != workload.tables.end())
    throw input_error(place,
                      fmt::format("'embedding_kernels: {}' needs sequences of one id, but table '{}' is not one",
                                  workload.embedding_kernels, found->name),
                      "Write kind: sequence and average_length: 1 in the table");
  if (workload.optimizer != "sgd" || workload.update_all_rows)
    throw input_error(place,
                      "HugeCTR's hybrid embedding adds gradients to rows in place, which only the update of SGD allows",
                      "Set optimizer: {name: sgd}, without update, or take other embedding_kernels");
  if (workload.full_input_exchange() || workload.dense.measured)
    throw input_error(place, "HugeCTR's hybrid embedding cannot be used with a full exchange of ids or a measured rest",
                      "Set input_exchange: ids, and leave out dense.measured");
}

// It is TorchRec's, of its sequence modules.
void check_index_dedup(MapReader& reader, const Workload& workload, const TableDefaults& defaults) {
  if (defaults.index_dedup && std::ranges::none_of(workload.tables, is_sequence))
    throw input_error(reader.place_of("index_dedup"), "'index_dedup' has no effect: no table is a sequence",
                      "Leave it out: the ids of pooled tables are exchanged as they are");
  const auto found = std::ranges::find_if(workload.tables, &Table::index_dedup);
  if (found == workload.tables.end() || !workload.hugectr_hybrid()) return;
  throw input_error(
      reader.place_of("embedding_kernels"),
      fmt::format("HugeCTR's hybrid embedding has no index_dedup, which table '{}' asks for", found->name),
      "Leave 'index_dedup' out, or take other embedding_kernels");
}

// These pipelines are TorchRec's, whose exchange of ids has all its steps.
void check_pipeline(MapReader& reader, const Workload& workload) {
  const bool is_new = workload.fused_sparse_dist() || workload.staged();
  if (!workload.base_pipeline() && !workload.semi_sync() && !is_new) return;
  if (!workload.full_input_exchange())
    throw input_error(reader.place_of("pipeline"),
                      fmt::format("pipeline {} simulates the exchange of ids in all its steps, so it needs a full "
                                  "exchange and no measured rest",
                                  workload.pipeline),
                      "Set input_exchange: full, and leave out dense.measured");
  const auto is_above = [](const DenseLayer& layer) { return !is_bottom(layer); };
  if (workload.semi_sync() && std::ranges::none_of(workload.dense.layers, is_above))
    throw input_error(reader.place_of("pipeline"),
                      "pipeline semi_sync looks rows up beside the dense part of another batch, and no layer of dense "
                      "takes vectors",
                      "Give dense layers above the bottom ones, or choose another pipeline");
  if (workload.embedding_kernels.starts_with("hugectr"))
    throw input_error(
        reader.place_of("pipeline"),
        fmt::format("pipeline {} is TorchRec's, and the embedding_kernels are HugeCTR's", workload.pipeline),
        "Choose embedding_kernels: fused, or another pipeline");
}

// Rows come back at a layer of the dense part that is there, and only those of tables can stay.
void check_stash(const Workload& workload) {
  if (!workload.stash) return;
  const Stash& stash = *workload.stash;
  const auto is_layer = [&](const DenseLayer& layer) { return layer.name == stash.restore_at; };
  if (stash.restore_at != kRestoreAtGradients && std::ranges::none_of(workload.dense.layers, is_layer))
    throw input_error(stash.place,
                      fmt::format("rows cannot return at '{}': no layer of dense has this name", stash.restore_at),
                      "Name a layer in 'restore_at', or write gradients");
  for (const std::string& name : stash.keep)
    if (std::ranges::none_of(workload.tables, [&](const Table& table) { return table.name == name; }))
      throw input_error(stash.place, fmt::format("'keep' names '{}', which is no table", name),
                        "Name tables of this workload");
  const auto is_kept = [&](const Table& table) {
    return std::ranges::find(stash.keep, table.name) != stash.keep.end();
  };
  if (std::ranges::all_of(workload.tables, is_kept))
    throw input_error(stash.place, "'keep' names every table, so that nothing is stashed",
                      "Leave a table out of 'keep', or leave 'stash' out");
  if (workload.embedding_kernels != "fused")
    throw input_error(stash.place, fmt::format("embedding_kernels {} stash no rows", workload.embedding_kernels),
                      "Choose embedding_kernels: fused, or leave 'stash' out");
}

[[noreturn]] void refuse_batch(const Table& table, const std::string& wrong, const std::string& remedy) {
  throw input_error(table.place, wrong, remedy);
}

// TorchRec's VBE: the input of a module has a stride for every key or for none, and one for each.
void check_batches(const Workload& workload) {
  std::map<std::string, const Table*> with, without;  // by module
  std::map<std::string, std::optional<std::int64_t>> known;
  for (const Table& table : workload.tables) {
    if (table.kind != TableKind::pooled || !table.sharded) continue;  // such a table has the model's whole batch
    for (const Feature& feature : table.features) {
      (feature.batch ? with : without).try_emplace(table.module, &table);
      const std::int64_t batch = batch_of(feature, workload.batch_per_gpu);
      if (batch > workload.batch_per_gpu)
        refuse_batch(table,
                     fmt::format("feature '{}' has a batch of {}, and a rank has {} samples", feature.name, batch,
                                 workload.batch_per_gpu),
                     fmt::format("Write 1 to {}, or raise batch_per_gpu", workload.batch_per_gpu));
      if (known.try_emplace(feature.name, feature.batch).first->second != feature.batch)
        refuse_batch(table, fmt::format("feature '{}' has another batch in another table", feature.name),
                     "A feature is one input: give it one 'batch'");
    }
  }
  for (const auto& [module, table] : with) {
    if (!without.contains(module)) continue;
    const Table& other = *without.at(module);
    refuse_batch(
        other,
        fmt::format("features of table '{}' state no batch, and those of table '{}' do", other.name, table->name),
        "In TorchRec every feature of a module has a batch of its own, or none: state 'batch' there too");
  }
}

// A feature that several tables look up is one input, a key of one KeyedJaggedTensor, so it has one number of ids.
void check_shared_features(const Workload& workload) {
  struct Known {
    const Table* table;
    const Feature* feature;
  };
  std::map<std::string, Known> known;
  for (const Table& table : workload.tables)
    for (const Feature& feature : table.features) {
      const Known& first = known.try_emplace(feature.name, Known{&table, &feature}).first->second;
      const double ids = first.feature->ids();
      constexpr double kSame = 1e-9;  // relative: sums of parts
      if (std::abs(feature.ids() - ids) <= kSame * ids) continue;
      throw input_error(table.place,
                        fmt::format("feature '{}' has {} ids a sample in table '{}' and {} in table '{}'", feature.name,
                                    shortest(feature.ids()), table.name, shortest(ids), first.table->name),
                        "A feature that several tables name is one input: give it the same pooling_factor (or "
                        "average_length) in all of them, or name two features");
    }
}

// Refuses what cannot go with a feature that has a batch of its own.
void check_strides(MapReader& reader, const Workload& workload) {
  const auto found = std::ranges::find_if(
      workload.tables, [&](const Table& table) { return varies_batch(table, workload.batch_per_gpu); });
  if (found == workload.tables.end()) return;
  if (!workload.full_input_exchange() || workload.input_exchange == "none")
    refuse_batch(*found, fmt::format("the features of table '{}' have a batch of their own", found->name),
                 "That needs input_exchange: full, by which ranks learn the strides");
  if (workload.embedding_kernels == "fused" && !workload.hugectr_pipeline() &&
      workload.output_exchange == "reduce_scatter")
    return;
  throw input_error(
      reader.place_of("embedding_kernels"),
      fmt::format("features of table '{}' have a batch of their own, which HugeCTR and TensorFlow have not",
                  found->name),
      "Leave 'batch' out, or take embedding_kernels: fused with TorchRec's exchanges");
}

// Each direction for itself: scales need a type that has some.
void check_direction(const Workload& workload, bool forward, const Place& place) {
  const WireCodec& codec = workload.wire_codec;
  const std::int64_t rows = forward ? codec.forward_rows : codec.backward_rows;
  const auto type = [&](const Table& table) {
    return forward ? forward_wire(workload, table) : backward_wire(workload, table);
  };
  const auto sends = [&](Dtype dtype) {
    return std::ranges::any_of(workload.tables, [&](const Table& table) { return type(table) == dtype; });
  };
  const std::string key = forward ? "quantize_dim" : "quantize_dim_backward";
  if (!forward && codec.mx4_group != WireCodec{}.mx4_group && !sends(Dtype::mx4) &&
      std::ranges::none_of(workload.tables,
                           [&](const Table& table) { return forward_wire(workload, table) == Dtype::mx4; }))
    throw input_error(place, "'mx4_group' has no effect: nothing is mx4 on the wire",
                      "Leave 'mx4_group' out, or write forward: mx4");
  if (rows > 0 && !sends(Dtype::fp8) && !sends(Dtype::int8))
    throw input_error(place, fmt::format("'{}' has no effect: nothing is fp8 or int8 on the wire", key),
                      fmt::format("Leave '{}' out, or write {}: fp8", key, forward ? "forward" : "backward"));
}

// The codecs are TorchRec's, of the exchanges that it has.
void check_codec(MapReader& reader, const Workload& workload) {
  const WireCodec& codec = workload.wire_codec;
  if (codec == WireCodec{}) return;
  const Place place = reader.place_of("wire_dtype");
  for (const bool forward : {true, false}) check_direction(workload, forward, place);
  if (!codec.kernels) return;
  const auto converts = [&](const Table& table) {
    return forward_wire(workload, table) != Dtype::fp32 || backward_wire(workload, table) != Dtype::fp32;
  };
  if (std::ranges::none_of(workload.tables, converts))
    throw input_error(place, "'kernels' has no effect: all is fp32 on the wire, which needs no conversion",
                      "State forward or backward, or leave 'kernels' out");
  const std::string other = workload.embedding_kernels != "fused" ? "embedding_kernels: " + workload.embedding_kernels
                            : workload.output_exchange != "reduce_scatter"
                                ? "output_exchange: " + workload.output_exchange
                            : workload.dense.measured ? "dense.measured, whose time contains them"
                                                      : "";
  if (!other.empty())
    throw input_error(place, fmt::format("the kernels of TorchRec's codecs cannot be used with {}", other),
                      "Leave that out, or 'kernels'");
}

// TorchRec's fully sharded tables are pooled ones (ShardedBatchedFusedEmbeddingBag in batched_embedding_kernel.py).
void check_fully_sharded(const Workload& workload) {
  if (!workload.sharding_groups || !workload.sharding_groups->fully_sharded) return;
  const Place& place = workload.sharding_groups->place;
  const auto sequence = std::ranges::find(workload.tables, TableKind::sequence, &Table::kind);
  if (sequence != workload.tables.end())
    throw input_error(
        place,
        fmt::format("table '{}' is a sequence, and TorchRec's fully sharded tables are pooled ones", sequence->name),
        "Leave 'strategy' out: all replicas are then averaged behind the backward pass");
  const std::string other = workload.stash         ? "stash"
                            : workload.semi_sync() ? "pipeline: semi_sync, which looks rows up while others are updated"
                                                   : "";
  if (!other.empty())
    throw input_error(place, fmt::format("strategy fully_sharded cannot be used with {}", other),
                      "Leave that out, or 'strategy'");
}

// 2D parallelism is TorchRec's, whose lookups are fused.
void check_groups(const Workload& workload) {
  if (!workload.sharding_groups) return;
  const bool one_call = workload.dense.all_reduce.one_call;
  if (workload.embedding_kernels == "fused" && !workload.hugectr_pipeline() && !one_call) return;
  const std::string other = one_call                      ? "dense.all_reduce.calls: one"
                            : workload.hugectr_pipeline() ? "pipeline: hugectr"
                                                          : "embedding_kernels: " + workload.embedding_kernels;
  throw input_error(workload.sharding_groups->place,
                    fmt::format("sharding groups are TorchRec's, and cannot be used with {}", other),
                    "Leave that out, or 'sharding_groups'");
}

}  // namespace

void check_module_paths(const Workload& workload) {
  check_modules(workload);
  check_modules_apart(workload);
}

void check_combinations(MapReader& reader, const Workload& workload, const TableDefaults& defaults) {
  check_ids_in_place(reader, workload);
  check_hugectr(reader, workload);
  check_hugectr_hybrid(reader, workload);
  check_index_dedup(reader, workload, defaults);
  check_pipeline(reader, workload);
  check_stash(workload);
  check_groups(workload);
  check_fully_sharded(workload);
  check_codec(reader, workload);
  check_gradients(reader, workload);
  check_batches(workload);
  check_shared_features(workload);
  check_strides(reader, workload);
}

}  // namespace shardsim
