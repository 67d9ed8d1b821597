#include "models/workload/workload_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::string_view kWorkloadSchema = "shardsim.workload/1";
constexpr std::int64_t kMostQuantized = 1 << 20;
constexpr std::int64_t kMostGroupRanks = 1 << 20;  // as a Program may have
constexpr std::int64_t kMostSyncInterval = 1'000'000;
constexpr std::size_t kMostTables = 100'000;

void optimizer_keys(Fields& map, Workload& workload) {
  std::string update = "exact_sorted";
  map.choose("name", workload.optimizer, {"sgd", "rowwise_adagrad", "adagrad", "adam", "lamb"},
             "its state, in fp32, takes 0, 4, 4 D, 8 D and 8 D bytes per row of D columns");
  map.choose(
      "update", update, {"exact_sorted", "all_rows"},
      "`exact_sorted`: the lookups are sorted first, so that each row is updated once, with the exact sum of its "
      "gradients. `all_rows`: the sums are written, and then the optimizer passes over every row that is held, "
      "as HugeCTR's global update does; only for tables in device memory. Updates in place by atomic operations "
      "exist only in HugeCTR's hybrid embedding (`embedding_kernels`)");
  workload.update_all_rows = update == "all_rows";
}

void wire_key(Fields& map, std::string_view key, std::optional<WireDtype>& wire, const char* usual, const char* help) {
  std::vector<std::string> words{"table"};
  std::ranges::copy(words_of(Dtype{}), std::back_inserter(words));
  words.push_back(dtype_name(Dtype::fp8));  // behind the types of rows, as in the enumeration
  std::optional<std::string> word;
  map.usual(usual).take(key, word, word_leaf(words), help);
  if (!map.reading() || !word) return;
  const auto place = std::ranges::find(words, *word) - words.begin();  // `table` stands before the types
  wire = place == 0 ? WireDtype{} : WireDtype{static_cast<Dtype>(place - 1)};
}

void wire_keys(Fields& map, Workload& workload) {
  wire_key(map, "forward", workload.wire_forward, "fp32",
           "the data type of vectors while they are exchanged, or `table` for the type of the table's rows. fp32 is "
           "what TorchRec's lookups return whatever the type of the rows. (TorchRec's own estimate assumes the type of "
           "the rows if none is stated.) fp8 is TorchRec's without scales: one byte for each element, but where "
           "partial sums "
           "are reduced (row_wise, table_row_wise and grid_shard of pooled tables) fp16 forward and bf16 backward, as "
           "in TorchRec, which sends the sums of a node to other nodes as fp8");
  wire_key(map, "backward", workload.wire_backward, "fp32",
           "the same of their gradients. Gradients of replicated rows (data_parallel; flex across nodes) are always "
           "all-reduced in the type of the rows, or in fp32 for int8 rows");
  WireCodec& codec = workload.wire_codec;
  map.take(
      "kernels", codec.kernels,
      "a kernel of its own converts vectors and gradients in front of each exchange, and another one behind it, as "
      "the codecs of TorchRec's `QCommsConfig` do ([lowering.md](../lowering.md#quantised-exchanges)); else lookups "
      "write the type of the wire, and no time is counted");
  map.usual("no scales")
      .take("quantize_dim", codec.forward_rows, count_leaf(Bounds::from(0).to(kMostQuantized)),
            "elements of fp8 and int8 vectors that share a scale and an offset, 8 bytes for all of "
            "them (`fp8_quantize_dim`); a divisor of the columns of every shard whose vectors are fp8 or int8 on the "
            "wire");
  map.usual("no scales")
      .take("quantize_dim_backward", codec.backward_rows, count_leaf(Bounds::from(0).to(kMostQuantized)),
            "the same of gradients (`fp8_quantize_dim_bwd`)");
}

}  // namespace

void table_wire_keys(Fields& map, Table& table) {
  wire_key(map, "forward", table.wire_forward, "that of the workload", "the data type of its vectors on the wire");
  wire_key(map, "backward", table.wire_backward, "that of the workload", "the same of their gradients");
}

namespace {

void module_keys(Fields& map, Workload& workload) {
  std::optional<std::string> first;
  map.take("pooled", workload.pooled_module, label_leaf(), "the path of the module of pooled tables in plan files");
  map.take("sequence", workload.sequence_module, label_leaf(), "that of sequence tables; another label");
  map.refuse_if(workload.pooled_module == workload.sequence_module, "",
                fmt::format("both modules are called '{}'", workload.pooled_module),
                "Plan files distinguish them by path: give them different names");
  map.usual("that of the first table")
      .take(
          "first", first, word_leaf({"pooled", "sequence"}),
          "whose module comes first in the forward pass, as in the model's code. Their exchanges run in this order on "
          "one stream, which may decide a fifth of an iteration; it is the only thing for which the order of tables "
          "counts");
  if (map.reading() && first) workload.first_module = *first == "pooled" ? TableKind::pooled : TableKind::sequence;
  std::string exchanges = "together";
  map.usual("together")
      .take(
          "exchanges", exchanges, word_leaf({"together", "each"}),
          "`each`: every module has exchanges, lookups and updates of its own, as TorchRec's collections do; its "
          "pipelines bring the ids of all of them ahead, and without a pipeline one module comes after the other "
          "([lowering.md](../lowering.md#collections-one-by-one)). `together`: one exchange for all modules of a kind");
  workload.modules_apart = exchanges == "each";
}

void check_names(const std::vector<Table>& tables) {
  std::set<std::string> seen;
  for (const Table& table : tables)
    if (!seen.insert(table.name).second)
      throw input_error(table.place, fmt::format("table '{}' is there twice", table.name),
                        "Give every table its own name");
}

// TorchRec's modules are of one kind of table each.
void check_modules(const Workload& workload) {
  std::map<std::string, const Table*> first_of;
  for (const Table& table : workload.tables) {
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
    if (table.kind != TableKind::pooled) continue;
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
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  if (std::any_of(workload.tables.begin(), workload.tables.end(), sequence))
    throw input_error(place, "ids of sequence tables must be exchanged", "Choose auto, full or ids");
}

// HugeCTR's embedding collections are of pooled tables, and its pipeline is the exchange of keys in all its steps.
void check_hugectr(MapReader& reader, const Workload& workload) {
  if (!workload.hugectr_kernels() && !workload.hugectr_pipeline()) return;
  const char* const key = workload.hugectr_kernels() ? "embedding_kernels" : "pipeline";
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  const auto found = std::ranges::find_if(workload.tables, sequence);
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
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  if (defaults.index_dedup && std::ranges::none_of(workload.tables, sequence))
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
  if (!workload.base_pipeline() && !workload.semi_sync()) return;
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
    if (table.kind != TableKind::pooled) continue;
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

// Ids of a sample that a feature has. Sequences have those of the table in equal parts.
double ids_of(const Feature& feature) {
  return feature.pooling_factor * feature.num_poolings;
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
      const double ids = ids_of(*first.feature);
      constexpr double kSame = 1e-9;  // relative: sums of parts
      if (std::abs(ids_of(feature) - ids) <= kSame * ids) continue;
      throw input_error(table.place,
                        fmt::format("feature '{}' has {} ids a sample in table '{}' and {} in table '{}'", feature.name,
                                    shortest(ids_of(feature)), table.name, shortest(ids), first.table->name),
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
  if (rows > 0 && !sends(Dtype::fp8) && !sends(Dtype::int8))
    throw input_error(place, fmt::format("'{}' has no effect: nothing is fp8 or int8 on the wire", key),
                      fmt::format("Leave '{}' out, or write {}: fp8", key, forward ? "forward" : "backward"));
}

// Whether kernels of their own convert vectors, or lookups write them: int8 without scales is what nobody sends.
void check_int8(MapReader& reader, const Workload& workload) {
  for (const bool forward : {true, false}) {
    if ((forward ? workload.wire_codec.forward_rows : workload.wire_codec.backward_rows) > 0) continue;
    const auto found = std::ranges::find_if(workload.tables, [&](const Table& table) {
      return (forward ? forward_wire(workload, table) : backward_wire(workload, table)) == Dtype::int8;
    });
    if (found == workload.tables.end()) continue;
    throw input_error(reader.has("wire_dtype") ? reader.place_of("wire_dtype") : found->place,
                      fmt::format("no kernel of TorchRec sends int8 without scales, as {} of table '{}' would be",
                                  forward ? "vectors" : "gradients", found->name),
                      fmt::format("Write '{}', or another type", forward ? "quantize_dim" : "quantize_dim_backward"));
  }
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

// Errors: all tables so far take too much.
void add_weight(std::size_t& weight, const std::vector<Table>& more, const Place& place) {
  for (const Table& table : more) weight += weight_of(table);
  if (weight > kMostTableWeight)
    throw input_error(place, fmt::format("tables, features and knots come to {} numbers", weight),
                      fmt::format("Give fewer: at most {}", kMostTableWeight));
}

// By their rows, and among tables of as many rows by their order: the same for renamed tables, and for one more or one
// fewer of another size.
void give_row_keys(std::vector<Table>& tables) {
  std::map<std::uint64_t, int> of_rows;
  for (Table& table : tables) table.row_key = fmt::format("{} rows, number {}", table.rows, ++of_rows[table.rows]);
}

std::vector<Table> read_tables(MapReader& reader, const std::string& folder, const TableDefaults& defaults,
                               std::vector<SourcedValue>& sources) {
  const std::vector<Tree>& items = reader.list("tables", Bounds::from(1));
  std::vector<Table> tables;
  std::size_t weight = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::vector<Table> more = read_tables_entry({items[i], fmt::format("tables.{}", i), &sources}, folder, defaults);
    if (tables.size() + more.size() > kMostTables)
      throw input_error(items[i].place, fmt::format("more than {} tables", kMostTables), "Lower 'copies'");
    add_weight(weight, more, items[i].place);
    std::move(more.begin(), more.end(), std::back_inserter(tables));
  }
  check_names(tables);
  give_row_keys(tables);
  return tables;
}

void head_keys(Fields& map, Workload& workload) {
  std::string schema(kWorkloadSchema);
  map.need("schema", schema, word_leaf({schema}, "schema of a workload file"), "what the file is");
  map.known("base", text_leaf(kNotEmpty).form, "the workload to start from: a shipped name, or a file");
  map.need("name", workload.name, text_leaf(kNameRule), "for a shipped workload, its file name without ending");
  map.usual("empty").take("summary", workload.summary, "one line about the model, which lists show");
  map.need("batch_per_gpu", workload.batch_per_gpu, count_leaf(Bounds::from(1).to(kMostBatchPerGpu)),
           "samples that each rank processes in an iteration");
  map.choose("id_bytes", workload.id_bytes, {"4", "8"}, "bytes of one id in an exchange");
}

// TorchRec's own names are aliases of the short ones.
void pipeline_key(Fields& map, std::string& pipeline) {
  map.choose("pipeline", pipeline,
             {"none", "base", "sparse_dist", "prefetch_sparse_dist", "semi_sync", "train_base", "train_sparse_dist",
              "train_prefetch_sparse_dist", "prefetch_train_sparse_dist", "train_semi_sync", "hugectr"},
             "when the ids of the next batch are exchanged ([lowering.md](../lowering.md#pipelines)). TorchRec's names "
             "with `train_` mean the same as those without. `base` copies the next batch and does all else in line; "
             "`semi_sync` looks the next batch up before this one's update; both need a full exchange. `hugectr` works "
             "as in [HugeCTR's embedding "
             "collections](../lowering.md#hugectr) and needs pooled tables and a full exchange");
  for (const char* const name : {"base", "sparse_dist", "semi_sync"})
    if (pipeline == fmt::format("train_{}", name)) pipeline = name;
  if (pipeline.starts_with("train_prefetch") || pipeline.starts_with("prefetch_train"))
    pipeline = "prefetch_sparse_dist";
}

void kept_keys(Fields& map, InputsKept& kept) {
  map.take("batch", kept.batch, "the batch as it came from the host; else it goes when it was permuted");
  map.take("sent", kept.sent, "what the exchange of ids sends; else it goes when it was sent");
}

void stash_keys(Fields& map, Stash& stash) {
  map.need("restore_at", stash.restore_at, label_leaf(),
           "the layer of `dense` whose backward pass starts their way back, or `gradients`, the exchange of gradients, "
           "behind all layers above it");
  map.usual("[]").custom("keep", list_shape(leaf_shape(label_leaf())), "tables whose rows stay on the device, not all");
  if (!map.reading()) return;
  stash.place = map.reader().tree().place;
  if (!map.reader().has("keep")) return;
  for (const Tree& item : map.reader().list("keep", Bounds::from(0))) stash.keep.push_back(label_leaf()(item));
}

void group_keys(Fields& map, ShardingGroups& groups) {
  std::string members = "interleaved";
  map.need("size", groups.size, count_leaf(Bounds::from(1).to(kMostGroupRanks)),
           "ranks of a sharding group (`sharding_group_size`): a divisor of the world");
  map.choose("members", members, {"interleaved", "consecutive"},
             "of K groups, group g is the ranks g, g + K, g + 2 K ..., so that replicas are neighbours, or a block of "
             "ranks (`use_inter_host_allreduce`)");
  groups.consecutive = members == "consecutive";
  map.take(
      "sync_every", groups.sync_every, count_leaf(Bounds::from(1).to(kMostSyncInterval)),
      "the replicas are averaged behind the backward pass of one in so many iterations, and the mean of the iterations "
      "is told");
  map.take("sync_states", groups.sync_states, "the sums of Adagrad are averaged with the rows");
  if (map.reading()) groups.place = map.reader().place_of("size");
}

void exchange_keys(Fields& map, Workload& workload) {
  map.choose(
      "input_exchange", workload.input_exchange, {"auto", "full", "ids", "none"},
      "what an exchange of ids moves ([lowering.md](../lowering.md#the-exchange-of-ids)). `full`: splits, lengths, "
      "ids and weights. `ids`: only ids. `none`: nothing, because each rank already has its ids. `auto`: `ids` "
      "for sequences without a pipeline or with `dense.measured`, else `full`");
  map.choose(
      "output_exchange", workload.output_exchange, {"reduce_scatter", "uniform", "hierarchical"},
      "how the partial sums of pooled row_wise tables get to the ranks of their samples "
      "([lowering.md](../lowering.md#partial-sums)): reduced over all ranks as in TorchRec, or as in HugeCTR, by "
      "a vector from every owner (`uniform`) or by the sum of every node (`hierarchical`). The validator "
      "executes only `reduce_scatter`");
  map.choose(
      "embedding_kernels", workload.embedding_kernels,
      {"fused", "per_table", "hugectr", "hugectr_hybrid", "hugectr_hybrid_in_line"},
      "how lookups and updates are executed. `fused`: one lookup and one update for many tables (FBGEMM). "
      "`per_table`: one of each per table, with expanded gradients (TensorFlow; "
      "[lowering.md](../lowering.md#bytes-in-device-memory)). `hugectr`: as [HugeCTR](../lowering.md#hugectr), "
      "for pooled tables and not with `dense.measured`. `hugectr_hybrid` and `hugectr_hybrid_in_line`: as "
      "[HugeCTR's hybrid embedding](../lowering.md#hugectrs-hybrid-embedding), for sequences of one id with SGD, "
      "with or without overlap. The validator executes only `fused`");
}

void row_memory_keys(Fields& map, Workload& workload) {
  map.choose("cache_policy", workload.cache_policy, {"lru", "lfu"},
             "which rows the caches of `fused_uvm_caching` hold ([lowering.md](../lowering.md#caches)): those of the "
             "latest batches, as FBGEMM does by default, or those that are used most, which leaves all others in host "
             "memory. Of `lfu` FBGEMM fills no cache ahead: it cannot be used with `pipeline: prefetch_sparse_dist`");
  map.map("inputs_kept", "which inputs stay in memory until their batch is through, as TorchRec keeps them by default",
          [&](Fields& inside) { kept_keys(inside, workload.inputs_kept); });
  map.map("stash", workload.stash,
          "rows leave the device between the lookup and the update of a batch, TorchRec's memory stashing "
          "([lowering.md](../lowering.md#stashing))",
          [](Fields& inside, Stash& stash) { stash_keys(inside, stash); });
  map.map("sharding_groups", workload.sharding_groups,
          "2D parallelism, TorchRec's `DMPCollection`: the tables are sharded over groups of ranks, each of which has "
          "all of them, and replicas are averaged ([lowering.md](../lowering.md#2d-parallelism))",
          [](Fields& inside, ShardingGroups& groups) { group_keys(inside, groups); });
}

// The name of a table is its key in a file of plans, so tables are read before all that refers to them.
void tables_key(Fields& map, Workload& workload, const std::string& folder, const TableDefaults& defaults) {
  require(map, "tables");
  map.usual("req").custom("tables", map.describing() ? tables_shape() : Shape{},
                          "see [A table](#a-table); at most 100,000 tables");
  if (map.reading()) {
    workload.tables = read_tables(map.reader(), folder, defaults, workload.sources);
    return;
  }
  map.usual("-").map("tables_from",
                     "takes [tables of another workload](#tables-of-another-workload) instead of `tables`",
                     [](Fields& inside) { TablesFrom().keys(inside); });
  map.exactly_one_of({"tables", "tables_from"});
}

TableDefaults workload_keys(Fields& map, Workload& workload, const std::string& folder) {
  TableDefaults defaults;
  head_keys(map, workload);
  pipeline_key(map, workload.pipeline);
  exchange_keys(map, workload);
  row_memory_keys(map, workload);
  map.usual("{name: rowwise_adagrad}").map("optimizer", "see [`optimizer`](#optimizer)", [&](Fields& inside) {
    optimizer_keys(inside, workload);
  });
  map.map("wire_dtype", "the data types on the wire", [&](Fields& inside) { wire_keys(inside, workload); });
  map.usual("{pooled: ebc, sequence: ec}").map("modules", "the modules of the model", [&](Fields& inside) {
    module_keys(inside, workload);
  });
  map.take("index_dedup", defaults.index_dedup,
           "the [`index_dedup`](#a-table) of all sequence tables that do not state their own; refused if no table is a "
           "sequence");
  tables_key(map, workload, folder, defaults);
  sample_factor_keys(map, workload);
  map.map("dense", "the dense part, see [`dense`](#dense)",
          [&](Fields& inside) { dense_keys(inside, workload.dense, workload.tables); });
  return defaults;
}

}  // namespace

void file_key(Fields& map, std::string_view key, std::string& file, const char* help) {
  map.take(key, file, text_leaf(kFileNameRule), help);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  map.refuse_if(std::ranges::any_of(file, is_control), key, excerpt(file) + " is not the name of a file",
                "Give a path relative to this file");
}

Workload read_workload(const Tree& tree, const std::string& folder) {
  Workload workload;
  MapReader reader(tree, "", &workload.sources);
  Fields map(reader);
  const TableDefaults defaults = workload_keys(map, workload, folder);
  check_modules(workload);
  check_modules_apart(workload);
  vary_attention(workload);
  check_ids_in_place(reader, workload);
  check_hugectr(reader, workload);
  check_hugectr_hybrid(reader, workload);
  check_index_dedup(reader, workload, defaults);
  check_pipeline(reader, workload);
  check_stash(workload);
  check_groups(workload);
  check_int8(reader, workload);
  check_codec(reader, workload);
  check_batches(workload);
  check_shared_features(workload);
  check_strides(reader, workload);
  if (workload.dense.measured) {
    const Tree& measured = *tree.find("dense")->find("measured");
    const Tree* const batch = measured.find("batch");
    take_measured_at(workload.batch_per_gpu, *workload.dense.measured, (batch != nullptr ? *batch : measured).place);
  }
  reader.finish();
  check_sizes(workload);
  return workload;
}

Shape workload_shape() {
  Shape shape;
  Fields map(shape);
  Workload workload;
  workload_keys(map, workload, "");
  return shape;
}

void TablesFrom::keys(Fields& map) {
  const auto list = [](const LeafReader<std::int64_t>& item, const Bounds& length) {
    return list_shape(leaf_shape(item), length);
  };
  Shape named;
  named.forms = {text_leaf(kNotEmpty).form};
  workload = map.custom("workload", named, "the workload whose tables are taken; its other keys are ignored", true);
  tables = map.custom("tables", list(count_leaf(), Bounds::from(1).to(kMostTables)),
                      "the numbers of its tables, from 0, where each of several `copies` counts as a table", true);
  dims = map.usual("their own")
             .custom("dims", list(from_one_leaf(), Bounds::from(0)), "the number of columns of each table taken");
  Shape type;
  type.forms = {word_leaf(words_of(Dtype{})).form};
  dtype = map.usual("their own").custom("dtype", type, "the data type of all tables taken");
  type.forms = {word_leaf({"sequence"}).form};
  kind =
      map.usual("their own")
          .custom("kind", type,
                  "makes pooled tables sequences: `pooling_factor` becomes `average_length`, and each item a vector");
  if (map.reading() && kind != nullptr) map.reader().choice("kind", {"sequence"});
}

}  // namespace shardsim
