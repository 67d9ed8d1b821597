#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr double kMostWidth = 1e12;  // columns of an interaction

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

}  // namespace

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

}  // namespace shardsim
