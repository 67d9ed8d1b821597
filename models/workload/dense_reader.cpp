#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "models/workload/table_weight.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr double kMostParameterBytes = 0x1p50;
constexpr double kMostWidth = 1e12;       // columns of an interaction
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
    const std::string name = text_leaf(kLabelRule)(item);
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

void read_attention(MapReader& reader, DenseLayer& layer, const std::vector<Table>& tables) {
  Attention attention;
  const Bounds columns = Bounds::from(1).to(kMostHeadColumns);
  attention.heads = reader.count("heads", columns);
  attention.head_dim = reader.count("head_dim", columns);
  attention.length = reader.real("length", Bounds::above(0).to(kMostItems));
  attention.causal = reader.flag("causal", true);
  attention.tables = read_attended(reader, attention.length, tables);
  layer.in = layer.out = attention.heads * attention.head_dim;
  layer.weights = false;
  layer.attention = attention;
}

DenseLayer read_layer(MapReader reader, const std::vector<Table>& tables) {
  DenseLayer layer;
  layer.name = read_label(reader, "name");
  if (reader.choice("kind", {"product", "attention"}, "product") == "attention") {
    read_attention(reader, layer, tables);
  } else {
    layer.in = reader.count("in");
    layer.out = reader.count("out");
  }
  if (reader.has("elementwise")) layer.elementwise = read_positive(reader, "elementwise");
  layer.repeat = reader.count("repeat", 1);
  layer.per_item = reader.choice("per", {"sample", "item"}, "sample") == "item";
  reader.finish();
  return layer;
}

std::vector<DenseLayer> read_layers(MapReader& reader, const std::vector<Table>& tables) {
  std::vector<DenseLayer> layers;
  std::size_t attended = 0;
  for (const Tree& item : reader.list("layers")) {
    layers.push_back(read_layer({item, fmt::format("{}.layers.{}", reader.path(), layers.size())}, tables));
    attended += layers.back().attention ? layers.back().attention->tables.size() : 0;
    if (attended > kMostTableWeight)
      throw input_error(item.place, fmt::format("layers attend to {} tables in all", attended),
                        "Write equal layers as one, with 'repeat'");
  }
  return layers;
}

// Weights and bias in fp32.
Bytes parameters_of(const std::vector<DenseLayer>& layers, const Place& place) {
  double bytes = 0;
  for (const DenseLayer& layer : layers)
    if (layer.weights)
      bytes += 4.0 * static_cast<double>(layer.repeat) * (static_cast<double>(layer.in) + 1) *
               static_cast<double>(layer.out);
  if (bytes > kMostParameterBytes)
    throw input_error(place, fmt::format("the dense layers have {:.3g} bytes of parameters", bytes),
                      fmt::format("Check in, out and repeat: at most {:.3g} bytes", kMostParameterBytes));
  return {static_cast<std::int64_t>(bytes)};
}

MeasuredRest::Part read_part(MapReader& split, std::string_view key) {
  split.required(key);
  MapReader reader = split.map(key);
  MeasuredRest::Part part{reader.time("time"), reader.text("reason")};
  reader.finish();
  return part;
}

MeasuredRest read_measured(MapReader reader) {
  MeasuredRest measured;
  measured.rest = reader.time("rest");
  measured.fitted = reader.is_fitted("rest");
  reader.required("split");
  MapReader split = reader.map("split");
  measured.id_exchange = read_part(split, "id_exchange");
  measured.lookup = read_part(split, "lookup");
  measured.dense_forward = read_part(split, "dense_forward");
  measured.dense_backward = read_part(split, "dense_backward");
  measured.update = read_part(split, "update");
  split.finish();
  reader.finish();
  const Seconds sum = measured.id_exchange.time + measured.lookup.time + measured.dense_forward.time +
                      measured.dense_backward.time + measured.update.time;
  // A whole nanosecond is allowed, so its own rounding is too.
  if (!(std::abs((sum - measured.rest).value) <= kSplitTolerance * (1 + 1e-6)))
    throw input_error(reader.place_of("split"),
                      fmt::format("the parts add up to {} ms, rest is {} ms", sum.ms(), measured.rest.ms()),
                      "The five parts must add up to rest within 1 ns");
  return measured;
}

void read_interaction(MapReader reader, DensePart& dense) {
  dense.interaction = reader.choice("kind", {"none", "dot", "dcn"}, "none");
  if (dense.interaction == "dcn") {
    dense.interaction_layers = reader.count("layers");
    dense.interaction_rank = reader.count("rank");
  }
  reader.finish();
}

DenseAllReduce read_all_reduce(MapReader reader) {
  DenseAllReduce all_reduce;
  all_reduce.one_call = reader.choice("calls", {"buckets", "one"}, "buckets") == "one";
  const std::string dtype = reader.choice("dtype", {"fp32", "fp16", "bf16"}, "fp32");
  all_reduce.dtype = dtype == "fp16" ? Dtype::fp16 : dtype == "bf16" ? Dtype::bf16 : Dtype::fp32;
  reader.finish();
  return all_reduce;
}

// The vectors that enter the interaction: that of every feature with one vector per sample (pooled, or a sequence of
// one item), and the output of the bottom layers.
struct InteractionInput {
  double vectors = 0, width = 0;  // how many, and their columns together

  void add(double count, std::int64_t dim) {
    vectors += count;
    width += count * static_cast<double>(dim);
  }
};

InteractionInput interaction_input(const std::vector<Table>& tables, const std::vector<DenseLayer>& layers,
                                   const Place& place) {
  InteractionInput input;
  for (const Table& table : tables)
    if (table.vector_per_feature()) input.add(static_cast<double>(table.features.size()), table.dim);
  if (input.vectors == 0)
    throw input_error(place, "there are no pooled tables whose vectors could interact",
                      "Leave 'interaction' out and write the products of this part as layers");
  const auto above = std::find_if_not(layers.begin(), layers.end(), is_bottom);
  if (above != layers.begin()) input.add(1, std::prev(above)->out);
  if (input.width > kMostWidth)
    throw input_error(place, fmt::format("the interaction is {:.3g} columns wide", input.width),
                      fmt::format("Check the tables' dim: at most {:.3g} columns", kMostWidth));
  return input;
}

// DCN v2 with low rank: each cross layer is two products, to the rank and back to the width (Wang et al., DCN V2, 2021,
// section 3.3; LowRankCrossNet in pytorch/torchrec). All of the first kind stand before all of the second: they work in
// turn, but only their sum matters to an iteration.
std::vector<DenseLayer> cross_layers(const DensePart& dense, const InteractionInput& input) {
  const auto width = static_cast<std::int64_t>(input.width);
  return {{"cross_v", width, dense.interaction_rank, dense.interaction_layers},
          {"cross_w", dense.interaction_rank, width, dense.interaction_layers}};
}

// The products of every vector with every other: a batched product of (vectors x columns) by its transpose
// (InteractionArch in pytorch/torchrec computes the whole square and keeps a triangle). A model that projects vectors
// of different lengths to one length first has those projections among its layers.
std::vector<DenseLayer> dot_layer(const InteractionInput& input) {
  DenseLayer dot{"dot", static_cast<std::int64_t>(input.width), static_cast<std::int64_t>(input.vectors)};
  dot.weights = false;
  return {dot};
}

// Puts the products of the interaction between the bottom layers and those above.
void add_interaction(DensePart& dense, const std::vector<Table>& tables, const Place& place) {
  if (dense.interaction == "none") return;
  if (dense.measured)
    throw input_error(place, "the dense part has both 'interaction' and 'measured'",
                      "The measured time includes the interaction: leave 'interaction' out");
  const InteractionInput input = interaction_input(tables, dense.layers, place);
  const std::vector<DenseLayer> products = dense.interaction == "dcn" ? cross_layers(dense, input) : dot_layer(input);
  const auto above = std::find_if_not(dense.layers.begin(), dense.layers.end(), is_bottom);
  if (above == dense.layers.begin()) dense.input_gradient = true;  // the interaction itself works on embeddings
  dense.layers.insert(above, products.begin(), products.end());
}

// A measured rest holds the products, whatever their precision, and all of their gradients.
void refuse_beside_measured(MapReader& reader) {
  for (const char* const key : {"layers", "input_gradient", "precision"})
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

bool is_bottom(const DenseLayer& layer) {
  return layer.name.starts_with("bottom");
}

DensePart read_dense(MapReader reader, const std::vector<Table>& tables) {
  DensePart dense;
  if (reader.has("trace"))
    throw input_error(reader.place_of("trace"), "a trace can be read in a scenario only",
                      "Name this workload in a scenario, or let shardsim import make one of the trace");
  if (reader.has("measured")) {
    refuse_beside_measured(reader);
    dense.measured = read_measured(reader.map("measured"));
    dense.measured->source = source_of_rest(reader.required("measured"));
  } else if (reader.has("layers")) {
    dense.layers = read_layers(reader, tables);
  }
  dense.input_gradient = reader.flag("input_gradient", false);
  dense.precision = reader.choice("precision", {"fp32", "tf32", "fp16", "bf16"}, "fp32");
  read_interaction(reader.map("interaction"), dense);
  add_interaction(dense, tables, reader.has("interaction") ? reader.place_of("interaction") : reader.tree().place);
  dense.all_reduce = read_all_reduce(reader.map("all_reduce"));
  if (reader.has("optimizer"))
    dense.optimizer = reader.choice("optimizer", {"sgd", "adagrad", "adam", "adam_fused", "lamb"});
  const Bytes counted = parameters_of(dense.layers, reader.tree().place);
  dense.parameters =
      reader.get<Bytes>("parameters_bytes", bytes_leaf(Bounds::from(0).to(kMostParameterBytes)), counted);
  reader.finish();
  return dense;
}

}  // namespace shardsim
