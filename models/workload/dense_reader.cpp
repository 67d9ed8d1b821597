#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "models/workload/model_name.h"
#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr double kMostParameterBytes = 0x1p50;
constexpr double kMostConcatenations = 100;
constexpr double kSplitTolerance = 1e-9;  // seconds

// FLOP of a sample, and columns, stay far from overflow.
constexpr std::int64_t kMostHeadColumns = 1 << 20;
constexpr double kMostItems = 1e9;

constexpr double kSameLength = 1e-9;  // relative

double length_of(const std::vector<int>& sequences, const std::vector<Table>& tables) {
  double length = 0;
  for (const int index : sequences) length += tables[static_cast<std::size_t>(index)].average_length;
  return length;
}

std::vector<int> sequences_of(const std::vector<Table>& tables) {
  std::vector<int> sequences;
  for (std::size_t index = 0; index < tables.size(); ++index) {
    if (tables[index].kind == TableKind::sequence) sequences.push_back(static_cast<int>(index));
  }
  return sequences;
}

// Whose items may be `length` a sample: all sequences, if they are no more, or the only one that is as long; none else.
std::vector<int> likely_sequences(double length, const std::vector<Table>& tables) {
  std::vector<int> all = sequences_of(tables);
  if (length_of(all, tables) <= length * (1 + kSameLength)) return all;
  std::erase_if(all, [&](int index) {
    return std::abs(tables[static_cast<std::size_t>(index)].average_length - length) > kSameLength * length;
  });
  return all.size() == 1 ? all : std::vector<int>{};
}

std::vector<int> read_attended(MapReader& reader, double length, const std::vector<Table>& tables) {
  if (!reader.has("tables")) return likely_sequences(length, tables);
  std::map<std::string_view, int> sequences;
  for (const int index : sequences_of(tables)) sequences.emplace(tables[static_cast<std::size_t>(index)].name, index);
  std::vector<int> attended;
  std::set<int> seen;
  for (const Tree& item : reader.list("tables", Bounds::from(1))) {
    const std::string name = model_name_leaf()(item);
    const auto found = sequences.find(name);
    if (found == sequences.end())
      throw input_error(item.place, fmt::format("there is no sequence table '{}'", name),
                        "Name the tables whose items attend to each other");
    if (!seen.insert(found->second).second)
      throw input_error(item.place, fmt::format("table '{}' is there twice", name), "Name it once");
    attended.push_back(found->second);
  }
  const double items = length_of(attended, tables);
  if (items > length * (1 + kSameLength))
    throw input_error(reader.place_of("length"),
                      fmt::format("attention has {:g} items a sample, its tables have {:g}", length, items),
                      "Give at least the sum of their average_length");
  return attended;
}

void attention_keys(Fields& map, DenseLayer& layer, const std::vector<Table>& tables) {
  Attention attention;
  const LeafReader<std::int64_t> columns = count_leaf(Bounds::from(1).to(kMostHeadColumns));
  map.usual("req").need_if(true, "heads", attention.heads, columns, "of attention");
  map.usual("req").need_if(true, "head_dim", attention.head_dim, columns, "of attention: columns of a head");
  map.usual("req").need_if(
      true, "length", attention.length, real_leaf(Bounds::above(0).to(kMostItems)),
      "of attention: the items of a sample. It is a mean: pairs are counted with the mean of the squares, by the "
      "[lengths](#lengths-of-bags) of the sequences of `tables`; what `length` has beyond theirs is the same in every "
      "sample");
  map.take("causal", attention.causal, "of attention: to items up to the own one, half of the pairs");
  map.usual("the likely ones")
      .custom("tables", list_shape(leaf_shape(model_name_leaf()), Bounds::from(1)),
              "of attention: whose items they are. Without this key all sequence tables if these have at most `length` "
              "items a sample, else the only one that has as many, else none");
  if (!map.reading()) return;
  attention.tables = read_attended(map.reader(), attention.length, tables);
  layer.in = layer.out = attention.heads * attention.head_dim;
  layer.weights = false;
  layer.attention = attention;
}

// The keys of what stands behind a layer, in this order.
void behind_keys(Fields& map, DenseLayer& layer) {
  std::string norm = "none", pool = "none";
  map.take("residual", layer.residual, "its input is added to its output, which has as many columns");
  map.choose(
      "norm", norm, {"none", "layer_norm", "swish_layer_norm"},
      "in place of the activation: nn.LayerNorm, or TorchRec's SwishLayerNorm, x sigmoid(LayerNorm(x)), with two "
      "parameters a column");
  map.choose("pool", pool, {"none", "mean"}, "of a layer on items: the mean over the items of each sample");
  layer.norm = norm == "none"         ? NormKind::none
               : norm == "layer_norm" ? NormKind::layer_norm
                                      : NormKind::swish_layer_norm;
  layer.mean_of_items = pool == "mean";
  map.refuse_if(layer.residual && layer.in != layer.out, "residual",
                fmt::format("the layer reads {} columns and writes {}", layer.in, layer.out),
                "An input can be added to an output of as many columns");
  map.refuse_if(layer.mean_of_items && !layer.per_item, "pool", "the layer works on samples, which have no items",
                "Write per: item, or leave 'pool' out");
}

void layer_keys(Fields& map, DenseLayer& layer, const std::vector<Table>& tables) {
  std::string kind = "product", per = "sample";
  map.need("name", layer.name, label_leaf(),
           "layers whose names begin with `bottom` run before the embeddings are there");
  map.choose(
      "kind", kind, {"product", "attention", "multihead_attention"},
      "attention takes 4 head_dim FLOP per head and pair of the `length` items of a sample forward, 2.5 times "
      "that backward, and has no parameters. multihead_attention is PyTorch's nn.MultiheadAttention of a history "
      "with itself, `batch_first`: this attention between products of its items, to three times the columns of "
      "all heads and back, and with `dense_kernels: pytorch` the copies that it makes");
  if (map.where(kind == "product")) {
    map.usual("req").need_if(true, "in", layer.in, from_one_leaf(), "of a product: columns that it reads");
    map.usual("req").need_if(true, "out", layer.out, from_one_leaf(), "of a product: columns that it writes");
  }
  if (map.where(kind != "product")) attention_keys(map, layer, tables);
  if (kind == "multihead_attention") layer.part = AttentionPart::scores;
  map.usual("bias and activation")
      .take("elementwise", layer.elementwise, above_zero_leaf(),
            "with [software](scenario.md#software): the element-wise operations after the layer, as the number of "
            "tensors of `out` columns that they read and write forward (a norm or gating: 2); 1.5 times as many "
            "backward");
  map.take("repeat", layer.repeat, from_one_leaf(), "so many equal layers");
  map.choose("per", per, {"sample", "item"},
             "whether the layer works on samples, or on the items of all sequence tables; multihead_attention works on "
             "items, of its own `tables`");
  map.refuse_if(map.reading() && kind == "multihead_attention" && map.reader().has("per") && per == "sample", "per",
                "multihead_attention works on items", "Leave 'per' out");
  layer.per_item = per == "item" || kind == "multihead_attention";
  behind_keys(map, layer);
}

// nn.MultiheadAttention: the two products of its items around their attention. What stands behind the block stands
// behind the last of them.
void add_multihead_attention(std::vector<DenseLayer>& layers, const DenseLayer& block) {
  DenseLayer first{block.name + "_in_projection", block.in, 3 * block.in, block.repeat, true};
  first.part = AttentionPart::in_projection;
  first.items = block.attention;
  DenseLayer scores{block.name, block.in, block.out, block.repeat, true, false, block.attention};
  scores.part = AttentionPart::scores;
  DenseLayer last = block;
  last.name += "_out_projection";
  last.part = AttentionPart::out_projection;
  last.weights = true;
  last.items = std::exchange(last.attention, std::nullopt);
  layers.insert(layers.end(), {std::move(first), std::move(scores), std::move(last)});
}

void take_modules_apart(DensePart& dense) {
  std::vector<DenseLayer> layers;
  for (DenseLayer& layer : dense.layers) {
    if (layer.part == AttentionPart::scores)
      add_multihead_attention(layers, layer);
    else
      layers.push_back(std::move(layer));
  }
  dense.layers = std::move(layers);
}

void layers_key(Fields& map, DensePart& dense, const std::vector<Table>& tables) {
  std::size_t attended = 0;
  map.usual("-").list("layers", dense.layers, Bounds::from(0),
                      "matrix products with 2 in out FLOP forward per sample or item, twice that backward",
                      [&](Fields& inside, DenseLayer& layer) {
                        layer_keys(inside, layer, tables);
                        attended += layer.attention ? layer.attention->tables.size() : 0;
                        inside.refuse_if(attended > kMostTableWeight, "",
                                         fmt::format("layers attend to {} tables in all", attended),
                                         "Write equal layers as one, with 'repeat'");
                      });
}

// Weights and bias in fp32.
Bytes parameters_of(const std::vector<DenseLayer>& layers, const Place& place) {
  double bytes = 0;
  for (const DenseLayer& layer : layers) {
    const double rows =
        (layer.weights ? static_cast<double>(layer.in) + 1 : 0) + (layer.norm != NormKind::none ? 2 : 0);
    bytes += 4.0 * static_cast<double>(layer.repeat) * rows * static_cast<double>(layer.out);
  }
  if (bytes > kMostParameterBytes)
    throw input_error(place, fmt::format("the dense layers have {:.3g} bytes of parameters", bytes),
                      fmt::format("Check in, out and repeat: at most {:.3g} bytes", kMostParameterBytes));
  return {static_cast<std::int64_t>(bytes)};
}

Seconds all_parts(const MeasuredRest& measured) {
  return measured.id_exchange.time + measured.lookup.time + measured.dense_forward.time + measured.dense_backward.time +
         measured.update.time;
}

void split_keys(Fields& map, MeasuredRest& measured) {
  const auto part = [&](const char* key, MeasuredRest::Part& held, const char* help) {
    map.need_map(key, help, [&](Fields& inside) {
      inside.need("time", held.time, "its part of `rest`");
      inside.need("reason", held.reason, text_leaf(), "why so much");
      inside.usual("-").take("per_sample", held.per_sample, time_leaf(),
                             "by how much each sample of a larger `batch_per_gpu` than `batch` makes its work longer");
      inside.take("waiting", held.waiting,
                  "of `time`, what waits for the host. With another `batch_per_gpu` all parts together wait for what "
                  "`host` leaves, and where it is less than `rest` at least as long as here");
    });
  };
  part("id_exchange", measured.id_exchange, "an allowance: the exchange itself is simulated");
  part("lookup", measured.lookup, "lookups, whatever the plan");
  part("dense_forward", measured.dense_forward, "the forward pass of the dense part");
  part("dense_backward", measured.dense_backward, "its backward pass");
  part("update", measured.update, "updates, whatever the plan");
}

void measured_keys(Fields& map, MeasuredRest& measured) {
  map.need("rest", measured.rest, "the measured time of everything but the collectives that are simulated");
  if (map.reading()) measured.fitted = map.reader().is_fitted("rest");
  map.usual("any").take(
      "batch", measured.batch, from_one_leaf(),
      "the samples per GPU that these times are of. Another `batch_per_gpu` is refused, unless a part "
      "of `split` says `per_sample`");
  map.take(
      "host", measured.host,
      "what the host needs for an iteration: with another `batch_per_gpu` all parts together take at least as long");
  std::string embeddings = measured.simulates_embeddings ? "simulated" : "measured";
  map.choose("embeddings", embeddings, {"measured", "simulated"},
             "whether lookups and updates take the measured time, or are simulated and no part of `rest`");
  measured.simulates_embeddings = embeddings == "simulated";
  map.need_map("split", "how it is divided. The five parts must add up to `rest` within 1 ns",
               [&](Fields& inside) { split_keys(inside, measured); });
  const Seconds sum = all_parts(measured);
  // A whole nanosecond is allowed, so its own rounding is too.
  map.refuse_if(!(std::abs((sum - measured.rest).value) <= kSplitTolerance * (1 + 1e-6)), "split",
                fmt::format("the parts add up to {} ms, rest is {} ms", sum.ms(), measured.rest.ms()),
                "The five parts must add up to rest within 1 ns");
  map.refuse_if(measured.simulates_embeddings && (measured.lookup.time + measured.update.time).value > 0, "split",
                "lookups and updates are simulated, and have a measured time, too",
                "Write 0 ns for both, or embeddings: measured");
}

void interaction_keys(Fields& map, DensePart& dense) {
  map.choose("kind", dense.interaction, {"none", "dot", "dcn"}, "see below");
  if (!map.where(dense.interaction == "dcn")) return;
  map.usual("req").need_if(true, "layers", dense.interaction_layers, from_one_leaf(), "of dcn: cross layers");
  map.usual("req").need_if(true, "rank", dense.interaction_rank, from_one_leaf(),
                           "of dcn: columns between their products");
}

void all_reduce_keys(Fields& map, DenseAllReduce& all_reduce) {
  std::string calls = "buckets", dtype = "fp32";
  map.choose(
      "calls", calls, {"buckets", "one"},
      "`buckets` works as in PyTorch. `one` makes one call after the whole backward pass, together with the full "
      "gradients of data_parallel tables and in the same type");
  map.choose("dtype", dtype, {"fp32", "fp16", "bf16"}, "of the gradients on the wire");
  all_reduce.one_call = calls == "one";
  all_reduce.dtype = dtype == "fp16" ? Dtype::fp16 : dtype == "bf16" ? Dtype::bf16 : Dtype::fp32;
}

// A measured rest holds the products, whatever their precision, and all of their gradients.
void refuse_beside_measured(MapReader& reader) {
  for (const char* const key : {"layers", "input_gradient", "precision", "concatenations"})
    if (reader.has(key))
      throw input_error(reader.place_of(key), fmt::format("the dense part has both '{}' and 'measured'", key),
                        key == std::string_view("layers")
                            ? "Give one of them"
                            : "The measured time includes the matrix products: leave them out");
}

// The `source` of dense.measured.rest, which MapReader has put among the workload's sources.
std::string source_of_rest(const Tree& measured) {
  const Tree* rest = measured.find("rest");
  const Tree* source = rest != nullptr ? rest->find("source") : nullptr;
  return source != nullptr ? source->scalar : "";
}

}  // namespace

void take_measured_at(std::int64_t batch, MeasuredRest& measured, const Place& place) {
  if (measured.batch == 0 || measured.batch == batch) return;
  MeasuredRest::Part* const parts[] = {&measured.id_exchange, &measured.lookup, &measured.dense_forward,
                                       &measured.dense_backward, &measured.update};
  if (std::ranges::none_of(parts, [](const auto* part) { return part->per_sample.has_value(); }))
    throw input_error(place,
                      fmt::format("the dense part was measured with a batch of {} per GPU, and batch_per_gpu is {}",
                                  measured.batch, batch),
                      "Import a trace of a second batch, too, or with --scale-dense, or write per_sample in 'split'");
  constexpr double kSame = 1e-8;  // s: times are in whole nanoseconds
  const auto more = static_cast<double>(batch - measured.batch);
  const double before = all_parts(measured).value;
  double busy = 0, waited = 0;
  for (MeasuredRest::Part* const part : parts) {
    const double work = part->time.value - part->waiting.value + more * part->per_sample.value_or(Seconds{0}).value;
    part->time = {std::max(0.0, work)};
    busy += part->time.value;
    waited += part->waiting.value;
  }
  // A part that waits though the host needs less than the step takes waits in other steps, too.
  const double kept = measured.host.value + kSame < before ? waited : 0;
  const double idle = std::max(kept, measured.host.value - busy);
  for (MeasuredRest::Part* const part : parts) {
    const double share = waited > 0 ? part->waiting.value / waited : busy > 0 ? part->time.value / busy : 0.2;
    part->waiting = {idle * share};
    part->time = part->time + part->waiting;
  }
  measured.rest = all_parts(measured);
  measured.batch = batch;
}

bool holds_embeddings(const DensePart& dense) {
  return dense.measured && !dense.measured->simulates_embeddings;
}

bool is_bottom(const DenseLayer& layer) {
  return layer.name.starts_with("bottom");
}

void dense_keys(Fields& map, DensePart& dense, const std::vector<Table>& tables) {
  if (map.reading() && map.reader().has("trace"))
    throw input_error(map.reader().place_of("trace"), "a trace can be read in a scenario only",
                      "Name this workload in a scenario, or let shardsim import make one of the trace");
  if (map.reading() && map.reader().has("measured")) refuse_beside_measured(map.reader());
  map.known("trace", text_leaf(kNotEmpty).form,
            "in workloads of a scenario, instead of all else: a profiler's trace of training steps, whose median step "
            "becomes `measured` ([import.md](../import.md#a-trace-of-training-steps))");
  layers_key(map, dense, tables);
  take_modules_apart(dense);
  map.map("measured", dense.measured,
          "the time of an iteration without its collectives, which lookups, dense parts and updates then take whatever "
          "the plan",
          [](Fields& inside, MeasuredRest& measured) { measured_keys(inside, measured); });
  if (map.reading() && dense.measured) dense.measured->source = source_of_rest(map.reader().required("measured"));
  map.take("input_gradient", dense.input_gradient,
           "the first layer of `layers` works on embeddings, so the gradient of its input is computed, too; not with "
           "`measured`");
  map.choose("precision", dense.precision, {"fp32", "tf32", "fp16", "bf16"},
             "of the matrix products: the rate in the GPU's `flops` that they run at (compute model `roofline`); not "
             "with `measured`");
  map.map("interaction", "how the `bottom` layers and the embeddings are combined, see below; not with `measured`",
          [&](Fields& inside) { interaction_keys(inside, dense); });
  if (map.reading()) {
    MapReader& reader = map.reader();
    add_interaction(dense, tables, reader.has("interaction") ? reader.place_of("interaction") : reader.tree().place);
  }
  map.map("all_reduce", "the all-reduce of the gradients of the parameters",
          [&](Fields& inside) { all_reduce_keys(inside, dense.all_reduce); });
  map.usual("that of the tables")
      .choose("optimizer", dense.optimizer, {"sgd", "adagrad", "adam", "adam_fused", "lamb"},
              "the optimizer of the dense part, where software with `dense_kernels: pytorch` runs it; other software "
              "takes that of the tables");
  map.usual("one, whose memory is not followed")
      .take(
          "concatenations", dense.concatenations, count_leaf(Bounds::from(1).to(kMostConcatenations)),
          "copies of all vectors that the model makes on their way to the first layer above the `bottom` ones, the one "
          "that this layer reads among them (a TorchRec model that joins its collections, regroups and then joins "
          "with the bottom layers: 3); not with `measured`");
  if (map.reading()) dense.parameters = parameters_of(dense.layers, map.reader().tree().place);
  map.usual("weights and biases of `layers` in fp32; else 0 B")
      .take("parameters_bytes", dense.parameters, bytes_leaf(Bounds::from(0).to(kMostParameterBytes)),
            "parameters that are all-reduced in each iteration, in bytes of fp32");
}

}  // namespace shardsim
