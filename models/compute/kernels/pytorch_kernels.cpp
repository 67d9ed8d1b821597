#include "models/compute/kernels/pytorch_kernels.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/tree/yaml.h"

namespace shardsim {
namespace {

constexpr const char* kPytorchSchema = "shardsim.pytorch/1";
constexpr double kMostPerNs = 1e6, kMostPytorchGrowth = 4, kMostShareOf = 2;

PytorchKernels::Product read_product(MapReader reader) {
  PytorchKernels::Product law;
  law.precision = reader.choice("precision", {"fp32", "tf32", "half"});
  law.aligned = reader.flag("aligned", true);
  const std::string layout = reader.choice("layout", {"forward", "input_gradient", "weight_gradient"});
  law.layout = layout == "forward"          ? DenseKernelKind::product
               : layout == "input_gradient" ? DenseKernelKind::product_input_gradient
                                            : DenseKernelKind::product_weight_gradient;
  law.rate = reader.flops("rate");
  const Bounds share = Bounds::from(0).to(kMostShareOf);
  law.tile_128x128 = reader.real("tile_128x128", share);
  law.tile_128x64 = reader.real("tile_128x64", share);
  law.tile_64x64 = reader.real("tile_64x64", share);
  law.tile_32x32 = reader.real("tile_32x32", share);
  law.start = reader.time("start");
  law.tile = reader.time("tile");
  law.memory_share = reader.real("memory_share", Bounds::above(0).to(kMostShareOf));
  law.split = reader.time("split");
  reader.finish();
  return law;
}

PytorchKernels::Batched read_batched(MapReader reader) {
  PytorchKernels::Batched law;
  law.precision = reader.choice("precision", {"fp32", "tf32", "half"});
  law.aligned = reader.flag("aligned", true);
  law.layout = reader.choice("layout", {"forward", "gradient"}) == "forward"
                   ? DenseKernelKind::batched_product
                   : DenseKernelKind::batched_product_gradient;
  law.sample = reader.time("sample");
  law.column = reader.time("column");
  law.growth = reader.real("growth", Bounds::from(0).to(kMostPytorchGrowth));
  law.start = reader.time("start");
  reader.finish();
  return law;
}

PytorchKernels::Attention read_attention(MapReader reader) {
  constexpr double kMostTile = 4096;
  PytorchKernels::Attention law;
  law.precision = reader.choice("precision", {"tf32", "half"});
  law.gradient = reader.choice("layout", {"forward", "gradient"}) == "gradient";
  law.tile = reader.real("tile", Bounds::from(1).to(kMostTile));
  law.start = reader.time("start");
  law.head = reader.time("head");
  law.head_column = reader.time("head_column");
  law.tiles = reader.time("tiles");
  law.tiles_column = reader.time("tiles_column");
  reader.finish();
  return law;
}

PytorchKernels::Bags read_bags(MapReader reader) {
  PytorchKernels::Bags bags;
  bags.lookup_start = reader.time("lookup_start");
  bags.lookup_bag = reader.time("lookup_bag");
  bags.lookup_row = reader.time("lookup_row");
  bags.lookup_missed = reader.time("lookup_missed");
  bags.lookup_chain = reader.time("lookup_chain");
  bags.copy_start = reader.time("copy_start");
  bags.copy_row = reader.time("copy_row");
  bags.add_start = reader.time("add_start");
  bags.add_row = reader.time("add_row");
  bags.add_missed = reader.time("add_missed");
  bags.add_hottest = reader.time("add_hottest");
  bags.sum_start = reader.time("sum_start");
  bags.sum_hottest = reader.time("sum_hottest");
  reader.finish();
  return bags;
}

void read_passes(MapReader& reader, PytorchKernels& numbers) {
  const Bounds share = Bounds::above(0).to(kMostShareOf), rate = Bounds::above(0).to(kMostPerNs);
  numbers.gap = reader.time("gap");
  numbers.start = reader.time("start");
  numbers.memory = reader.rate("memory");
  for (const Tree& each : reader.list("memory_of")) {
    MapReader of(each, fmt::format("memory_of.{}", numbers.memory_of.size()), &numbers.sources);
    const std::string gpu = of.text("gpu");
    numbers.memory_of[gpu] = of.rate("memory");
    of.finish();
  }
  numbers.cache = reader.rate("cache");
  numbers.cached = reader.bytes("cached");
  numbers.strided = reader.real("strided", share);
  numbers.elements_per_ns = reader.real("elements_per_ns", rate);
  numbers.wide_elements_per_ns = reader.real("wide_elements_per_ns", rate);
  numbers.widening = reader.real("widening", share);
  numbers.widening_start = reader.time("widening_start");
  numbers.rows_sum_start = reader.time("rows_sum_start");
  numbers.rows_sum_turn = reader.time("rows_sum_turn");
  numbers.column_sum_start = reader.time("column_sum_start");
  numbers.column_sum_row = reader.time("column_sum_row");
  numbers.gather_start = reader.time("gather_start");
  numbers.gather_element = reader.time("gather_element");
  numbers.scatter_start = reader.time("scatter_start");
  numbers.scatter_element = reader.time("scatter_element");
  numbers.scatter_element_half = reader.time("scatter_element_half");
  numbers.chunk_access = reader.time("chunk_access");
  numbers.norm_row = reader.time("norm_row");
  numbers.norm_column = reader.time("norm_column");
  numbers.norm_gradient_row = reader.time("norm_gradient_row");
  numbers.norm_gradient_column = reader.time("norm_gradient_column");
  numbers.norm_weights_row = reader.time("norm_weights_row");
  numbers.norm_weights_growth = reader.real("norm_weights_growth", Bounds::from(0).to(kMostPytorchGrowth));
}

}  // namespace

double pass_rate(const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference) {
  const auto measured = numbers.memory_of.find(gpu.name);
  if (measured != numbers.memory_of.end()) return measured->second.bytes_per_second;
  return numbers.memory.bytes_per_second * gpu.copy_bandwidth.bytes_per_second /
         reference.copy_bandwidth.bytes_per_second;
}

double held_bytes(const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference) {
  return static_cast<double>(numbers.cached.count) * static_cast<double>(gpu.l2.count) /
         static_cast<double>(reference.l2.count);
}

PytorchKernels pytorch_kernels_from_tree(const Tree& tree) {
  PytorchKernels numbers;
  MapReader reader(tree, "", &numbers.sources);
  reader.choice("schema", {kPytorchSchema});
  numbers.gpu = reader.text("gpu");
  read_passes(reader, numbers);
  numbers.bags = read_bags({reader.required("bags"), "bags", &numbers.sources});
  for (const Tree& each : reader.list("products", Bounds::from(1)))
    numbers.products.push_back(
        read_product({each, fmt::format("products.{}", numbers.products.size()), &numbers.sources}));
  for (const Tree& each : reader.list("batched", Bounds::from(1)))
    numbers.batched.push_back(
        read_batched({each, fmt::format("batched.{}", numbers.batched.size()), &numbers.sources}));
  for (const Tree& each : reader.list("attention", Bounds::from(1)))
    numbers.attention.push_back(
        read_attention({each, fmt::format("attention.{}", numbers.attention.size()), &numbers.sources}));
  reader.finish();
  return numbers;
}

PytorchKernels with_starts(PytorchKernels numbers, double factor) {
  PytorchKernels::Bags& bags = numbers.bags;
  for (Seconds* const fixed : {&numbers.gap, &numbers.start, &numbers.widening_start, &numbers.rows_sum_start,
                               &numbers.column_sum_start, &numbers.gather_start, &numbers.scatter_start,
                               &bags.lookup_start, &bags.copy_start, &bags.add_start, &bags.sum_start})
    fixed->value *= factor;
  for (PytorchKernels::Product& each : numbers.products) {
    each.start.value *= factor;
    each.split.value *= factor;
  }
  for (PytorchKernels::Batched& each : numbers.batched) each.start.value *= factor;
  for (PytorchKernels::Attention& each : numbers.attention) each.start.value *= factor;
  return numbers;
}

const PytorchKernels& shipped_pytorch_kernels() {
  static const PytorchKernels numbers =
      pytorch_kernels_from_tree(read_yaml_file((data_folder() / "scenarios" / "gpus" / "pytorch.yaml").string()));
  return numbers;
}

}  // namespace shardsim
