#include "models/workload/workload_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "models/workload/model_name.h"
#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::string_view kWorkloadSchema = "shardsim.workload/1";
constexpr std::int64_t kMostQuantized = 1 << 20;
constexpr std::int64_t kMostGroupRanks = 1 << 20;  // as a Program may have
constexpr std::int64_t kMostSyncInterval = 1'000'000, kMostAccumulated = 1'000'000;
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
  for (const Dtype dtype : {Dtype::fp8, Dtype::mx4}) words.push_back(dtype_name(dtype));  // behind those of rows
  std::optional<std::string> word;
  map.usual(usual).take(key, word, word_leaf(words), help);
  if (!map.reading() || !word) return;
  const auto place = std::ranges::find(words, *word) - words.begin();  // `table` stands before the types
  wire = place == 0 ? WireDtype{} : WireDtype{static_cast<Dtype>(place - 1)};
}

void wire_keys(Fields& map, Workload& workload) {
  wire_key(map, "forward", workload.wire_forward, "fp32",
           "the data type of vectors while they are exchanged, or `table` for the type of the table's rows. fp32 "
           "is what TorchRec's lookups return whatever the type of the rows. (TorchRec's own estimate assumes the "
           "type of the rows if none is stated.) fp8 is TorchRec's without scales: one byte for each element, but "
           "where partial sums are reduced (row_wise, table_row_wise and grid_shard of pooled tables) fp16 forward "
           "and bf16 backward, as in TorchRec, which sends the sums of a node to other nodes as fp8. mx4 has half a "
           "byte for each element and one byte for each `mx4_group`, and is fp16 and bf16 where fp8 is");
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
            "wire, or a multiple of them that divides the vectors of every rank");
  map.usual("no scales")
      .take("quantize_dim_backward", codec.backward_rows, count_leaf(Bounds::from(0).to(kMostQuantized)),
            "the same of gradients (`fp8_quantize_dim_bwd`)");
  map.take("mx4_group", codec.mx4_group, count_leaf(Bounds::from(2).to(kMostQuantized)),
           "elements of mx4 vectors that share an exponent (`mx4_quantize_dim`), one byte; a divisor of the columns of "
           "every shard whose vectors are mx4 on the wire");
  map.refuse_if(codec.mx4_group % 2 != 0, "mx4_group",
                fmt::format("{} elements of half a byte are no whole bytes", codec.mx4_group), "Give an even number");
}

}  // namespace

void table_wire_keys(Fields& map, Table& table) {
  wire_key(map, "forward", table.wire_forward, "that of the workload", "the data type of its vectors on the wire");
  wire_key(map, "backward", table.wire_backward, "that of the workload", "the same of their gradients");
}

namespace {

void module_keys(Fields& map, Workload& workload) {
  std::optional<std::string> first;
  map.take("pooled", workload.pooled_module, model_name_leaf(),
           "the path of the module of pooled tables in plan files");
  map.take("sequence", workload.sequence_module, model_name_leaf(), "that of sequence tables; another path");
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
  map.take(
      "accumulate", workload.accumulate, count_leaf(Bounds::from(1).to(kMostAccumulated)),
      "batches whose gradients of the dense part, of data_parallel tables and of tables that are not sharded are "
      "added up before one all-reduce and one step of their optimizer, as under `no_sync` of PyTorch "
      "([lowering.md](../lowering.md#accumulated-gradients)). An iteration is one of these batches, and the mean of "
      "them is told");
  map.choose("id_bytes", workload.id_bytes, {"4", "8"}, "bytes of one id in an exchange");
}

void kept_keys(Fields& map, InputsKept& kept) {
  map.take("batch", kept.batch, "the batch as it came from the host; else it goes when it was permuted");
  map.take("sent", kept.sent, "what the exchange of ids sends; else it goes when it was sent");
}

void stash_keys(Fields& map, Stash& stash) {
  map.need("restore_at", stash.restore_at, label_leaf(),
           "the layer of `dense` whose backward pass starts their way back, or `gradients`, the exchange of gradients, "
           "behind all layers above it");
  map.usual("[]").custom("keep", list_shape(leaf_shape(model_name_leaf())),
                         "tables whose rows stay on the device, not all");
  if (!map.reading()) return;
  stash.place = map.reader().tree().place;
  if (!map.reader().has("keep")) return;
  for (const Tree& item : map.reader().list("keep", Bounds::from(0))) stash.keep.push_back(model_name_leaf()(item));
}

void group_keys(Fields& map, ShardingGroups& groups) {
  std::string members = "interleaved";
  map.need("size", groups.size, count_leaf(Bounds::from(1).to(kMostGroupRanks)),
           "ranks of a sharding group (`sharding_group_size`): a divisor of the world");
  map.choose("members", members, {"interleaved", "consecutive"},
             "of K groups, group g is the ranks g, g + K, g + 2 K ..., so that replicas are neighbours, or a block of "
             "ranks (`use_inter_host_allreduce`)");
  groups.consecutive = members == "consecutive";
  std::string strategy = "default";
  map.choose(
      "strategy", strategy, {"default", "fully_sharded"},
      "`fully_sharded` (TorchRec's `ShardingStrategy.FULLY_SHARDED`): between the lookup and the update of a batch "
      "each replica keeps its share of the rows, and they are averaged on the way");
  groups.fully_sharded = strategy == "fully_sharded";
  if (groups.fully_sharded) groups.sync_every = 0;
  map.usual("1; with `fully_sharded` never")
      .take("sync_every", groups.sync_every, count_leaf(Bounds::from(1).to(kMostSyncInterval)),
            "the replicas are averaged behind the backward pass of one in so many iterations, and the mean of the "
            "iterations "
            "is told");
  map.take("sync_states", groups.sync_states, "the sums of Adagrad are averaged with the rows");
  if (groups.sync_every == 0)
    map.refuse("sync_states", "no state is averaged without 'sync_every'",
               "Give 'sync_every', or leave 'sync_states' out");
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
  map.usual("req").custom(
      "tables", map.describing() ? tables_shape() : Shape{},
      "see [A table](#a-table); at most 100,000 tables, those of `copies` among them. A YAML file holds "
      "1,000,000 keys and values, which are some 75,000 tables of five keys: more stand there by "
      "`copies`");
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
  pipeline_keys(map, workload);
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
  map.refuse_if(has_control_characters(file), key, excerpt(file) + " is not the name of a file",
                "Give a path relative to this file");
}

Workload read_workload(const Tree& tree, const std::string& folder) {
  Workload workload;
  MapReader reader(tree, "", &workload.sources);
  Fields map(reader);
  const TableDefaults defaults = workload_keys(map, workload, folder);
  check_module_paths(workload);
  vary_attention(workload);
  check_combinations(reader, workload, defaults);
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
