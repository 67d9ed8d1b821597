#include "sim/lower/dense/dense_work.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "sim/lower/dense/dense_steps.h"
#include "sim/lower/dense/pytorch_dense.h"

namespace shardsim::dense_work_test {
namespace {

Workload with_dense(const std::string& dense) {
  return read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: dense\nbatch_per_gpu: 32\noptimizer: {name: adagrad}\n"
                 "tables: [{name: p, rows: 10, dim: 16, kind: pooled, pooling_factor: 7},\n"
                 "         {name: q, rows: 10, dim: 16, kind: pooled, pooling_factor: 7}]\n"
                 "dense: {" +
                     dense + "}\n",
                 "dense"),
      "");
}

double flops_of(const DenseWork& work) {
  double flops = 0;
  for (const auto& each : work.products) flops += 2 * each.m * each.n * each.k * each.count;
  return flops;
}

DenseWork whole_backward(const Workload& workload, const DenseStyle& style) {
  DenseWork work;
  for (const DenseStep& step : dense_backward_steps(workload)) work.add(backward_work(workload, step.layers, style));
  return work;
}

const char* const kLayers =
    "layers: [{name: bottom_0, in: 16, out: 64}, {name: bottom_1, in: 64, out: 16}, {name: over_0, in: 48, out: 8},\n"
    "         {name: over_1, in: 8, out: 8}]";

}  // namespace

TEST_CASE("dense work: the products have the FLOP of the layers") {
  const Workload workload = with_dense(kLayers);
  CHECK(flops_of(forward_work(workload, true, {})) == dense_forward_flops(workload, true));
  CHECK(flops_of(forward_work(workload, false, {})) == dense_forward_flops(workload, false));
  double steps = 0;
  for (const DenseStep& step : dense_backward_steps(workload)) steps += step.flops;
  CHECK(flops_of(whole_backward(workload, {})) == steps);
  // The first layer's input is data and has no gradient: one product less than two for each of four layers.
  CHECK(whole_backward(workload, {}).products.size() == 7);
}

TEST_CASE("dense work: on tensor cores widths are padded to eights") {
  const Workload workload = with_dense("precision: fp16, layers: [{name: bottom_0, in: 13, out: 1}]");
  const DenseWork forward = forward_work(workload, true, {});
  CHECK(forward.products.front().m == 32);
  CHECK(forward.products.front().n == 8);
  CHECK(forward.products.front().k == 16);
}

// Linear layers fused with bias and ReLU move nothing; eager 2 tensors forward, 4 backward. The join of the vectors
// moves 2, and 3 or 2.
TEST_CASE("dense work: passes between products, fused and eager") {
  const Workload workload = with_dense(kLayers);
  const double join = 32 * 48 * 4.0, activations = 32 * (64 + 16 + 8 + 8) * 4.0;
  const auto forward = [&](bool fused) {
    return forward_work(workload, true, {fused}).bytes + forward_work(workload, false, {fused}).bytes;
  };
  CHECK(forward(true) == 2 * join);
  CHECK(forward(false) == 2 * join + 2 * activations);
  CHECK(whole_backward(workload, {true}).bytes == 3 * join);
  CHECK(whole_backward(workload, {false}).bytes == 2 * join + 4 * activations);
}

TEST_CASE("dense work: a cross layer moves 4 and 6 tensors of its width fused, 6 and 10 eager") {
  const Workload workload =
      with_dense("layers: [{name: over_0, in: 32, out: 8}], interaction: {kind: dcn, layers: 3, rank: 4}");
  const Workload plain = with_dense("layers: [{name: over_0, in: 32, out: 8}]");
  const double width = 32 * 32 * 4.0;
  const auto more = [&](bool fused, bool forward) {
    const DenseStyle style{fused};
    return forward ? forward_work(workload, false, style).bytes - forward_work(plain, false, style).bytes
                   : whole_backward(workload, style).bytes - whole_backward(plain, style).bytes;
  };
  CHECK(more(true, true) == 3 * 4 * width);
  CHECK(more(true, false) == 3 * 6 * width);
  CHECK(more(false, true) == 3 * 6 * width);
  CHECK(more(false, false) == 3 * 10 * width);
}

TEST_CASE("dense work: the optimizer's bytes go by optimizer and precision") {
  const Workload half = with_dense("precision: fp16, layers: [{name: bottom_0, in: 15, out: 64}]");
  CHECK(optimizer_work(half.dense, half.optimizer, true).bytes == 22 * 16 * 64.0);
  CHECK(forward_work(half, true, {}).bytes == 6 * 16 * 64.0);  // weights into half precision
  const Workload full = with_dense("layers: [{name: bottom_0, in: 15, out: 64}]");
  CHECK(optimizer_work(full.dense, full.optimizer, true).bytes == 20 * 16 * 64.0);
  CHECK(parameter_tensors(half.dense) == 2);
}

TEST_CASE("dense work: repeats that steps share are counted once") {
  const Workload workload = with_dense("layers: [{name: bottom_0, in: 1023, out: 1024, repeat: 10}]");
  const std::vector<DenseStep> steps = dense_backward_steps(workload);
  REQUIRE(steps.size() == 3);
  CHECK(whole_backward(workload, {}).operators == 20);
  double flops = 0;
  for (const DenseStep& step : steps) flops += step.flops;
  CHECK(flops == doctest::Approx(19 * 2.0 * 32 * 1023 * 1024));
  double products = 0;
  for (const auto& each : whole_backward(workload, {}).products) products += each.count;
  CHECK(products == 19);
}

// 4 heads of 16 columns, 10 items a sample: 55 causal pairs.
TEST_CASE("dense work: attention counts pairs, at a share of the peak") {
  const Workload workload =
      with_dense("layers: [{name: a, kind: attention, heads: 4, head_dim: 16, length: 10, elementwise: 4, repeat: 2}]");
  const double flops = 2 * 4.0 * 4 * 16 * 55 * 32;
  CHECK(dense_forward_flops(workload, false) == flops);
  const DenseStyle style{true, 0.4, {}};
  const DenseWork forward = forward_work(workload, false, style), backward = whole_backward(workload, style);
  CHECK(flops_of(forward) == flops);
  CHECK(flops_of(backward) == doctest::Approx(2.5 * flops));
  CHECK(forward.products.front().share == 0.4);
  CHECK(parameter_tensors(workload.dense) == 0);
  // Beside the join of the vectors in front of it.
  const double tensor = 32 * 64 * 4.0;
  CHECK(forward.bytes == 2 * 4 * tensor + 2 * tensor);
  CHECK(backward.bytes == 2 * 6 * tensor + 3 * tensor);
}

namespace {

// A sequence of 100 items on average, and attention over it.
Workload attending(const std::string& lengths, const std::string& causal) {
  return read_workload(
      parse_yaml(
          "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 32\ntables:\n  - {name: t, rows: 1000, dim: 8, kind: "
          "sequence, average_length: 100, length_distribution: " +
              lengths +
              "}\ndense:\n  layers: [{name: a, kind: attention, heads: 4, head_dim: 16, length: 100, causal: " +
              causal + "}]\n",
          "w.yaml"),
      "");
}

double pairs_of(const Workload& workload) {
  return dense_forward_flops(workload, false) / (4.0 * 64 * 32);
}

}  // namespace

TEST_CASE("attention over sequences of one length costs what its length says, to the last digit") {
  for (const char* const lengths : {"{family: fixed}", "{family: histogram, lengths: [{length: 100, share: 1}]}"}) {
    CHECK(pairs_of(attending(lengths, "true")) == 5050);
    CHECK(pairs_of(attending(lengths, "false")) == 10'000);
  }
}

// E L^2 of the geometric law is 2 m^2 + m.
TEST_CASE("attention costs the mean square of the lengths: of geometric ones about twice that of the mean") {
  CHECK(pairs_of(attending("{family: geometric}", "false")) == 20'100);
  CHECK(pairs_of(attending("{family: geometric}", "true")) == (20'100 + 100) / 2);
  CHECK(pairs_of(attending("{family: poisson}", "false")) == 10'100);
  const Workload workload = attending("{family: geometric}", "true");
  const DenseWork forward = forward_work(workload, false, {}), backward = whole_backward(workload, {});
  CHECK(flops_of(forward) == dense_forward_flops(workload, false));
  CHECK(flops_of(backward) == doctest::Approx(2.5 * flops_of(forward)));
}

// All ways to share n items among b geometric sequences are equally likely: E L^2 = n/b + 2 n (n - 1) / (b (b + 1)).
TEST_CASE("attention of a drawn batch costs what its items make likely") {
  const Workload workload = attending("{family: geometric}", "false");
  const auto pairs = [&](double items) {
    const RankItems drawn{items, {items}};
    return dense_forward_flops(workload, false, &drawn) / (4.0 * 64);
  };
  CHECK(pairs(3200) == doctest::Approx(32 * 20'100));
  for (const double n : {2700.0, 3200.0, 3800.0})
    CHECK(pairs(n) == doctest::Approx(n + 2 * n * (n - 1) / 33).epsilon(0.04));
  CHECK(pairs(0) == 0);
  const RankItems even{3200, {3200}};
  CHECK(dense_forward_flops(attending("{family: fixed}", "false"), false, &even) == 4.0 * 64 * 32 * 10'000);
}

namespace {

// A history of 50 items on average beside a pooled table, and what stands above it.
Workload with_history(const std::string& layers) {
  return read_workload(parse_yaml("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 32\ntables:\n"
                                  "  - {name: history, rows: 1000, dim: 16, kind: sequence, average_length: 50}\n"
                                  "  - {name: short, rows: 1000, dim: 16, kind: sequence, average_length: 2}\n"
                                  "dense:\n  layers: [" +
                                      layers + "]\n",
                                  "w.yaml"),
                       "");
}

const char* const kBlock = "{name: a, kind: multihead_attention, heads: 4, head_dim: 4, length: 50, causal: false";

double kernels_of(const DenseWork& work, DenseKernelKind kind) {
  double count = 0;
  for (const DenseKernel& kernel : work.by_kernel) count += kernel.kind == kind ? kernel.count : 0;
  return count;
}

}  // namespace

TEST_CASE("nn.MultiheadAttention is its attention between two products of the items that it attends to") {
  const Workload workload = with_history(std::string(kBlock) + "}");
  CHECK(workload.dense.layers.size() == 3);
  CHECK(workload.dense.parameters.count == 4 * (17 * 48 + 17 * 16));
  const double items = 32 * 50;
  const DenseWork forward = forward_work(workload, false, {});
  CHECK(flops_of(forward) == 2 * items * 16 * (48 + 16) + 4 * 16 * 32 * 50 * 50);
  const RankItems drawn{32 * 53, {32 * 51, 32 * 2}};
  CHECK(samples_of_layer(workload, workload.dense.layers.front(), &drawn) == 32 * 51);
}

TEST_CASE("nn.MultiheadAttention by PyTorch copies, as its traces show") {
  const Workload workload = with_history(std::string(kBlock) + ", residual: true, norm: layer_norm, pool: mean}");
  const DenseWork forward = pytorch_forward(workload, false, {});
  CHECK(kernels_of(forward, DenseKernelKind::strided_pass) == 5);  // input, bias, queries to values, output, sum
  CHECK(kernels_of(forward, DenseKernelKind::layer_norm) == 1);
  std::vector<LayerRun> runs;
  for (const DenseStep& step : dense_backward_steps(workload))
    runs.insert(runs.end(), step.layers.begin(), step.layers.end());
  const DenseWork backward = pytorch_backward(workload, runs, {});
  CHECK(kernels_of(backward, DenseKernelKind::strided_pass) == 9);  // output, six of heads, all three, the sum
  CHECK(kernels_of(backward, DenseKernelKind::layer_norm_gradient) == 1);
  CHECK(kernels_of(backward, DenseKernelKind::layer_norm_weights) == 1);
  CHECK(kernels_of(backward, DenseKernelKind::rows_sum) == 2);
}

TEST_CASE("a norm has two parameters a column, and takes the place of the activation") {
  const Workload norm = with_history("{name: a, in: 16, out: 8, norm: layer_norm}");
  const Workload plain = with_history("{name: a, in: 16, out: 8}");
  CHECK(norm.dense.parameters.count == plain.dense.parameters.count + 4 * 2 * 8);
  CHECK(parameter_tensors(norm.dense) == 4);
  const Workload swish = with_history("{name: a, in: 16, out: 8, norm: swish_layer_norm}");
  CHECK(forward_work(swish, false, {.fused = false}).bytes - forward_work(norm, false, {.fused = false}).bytes ==
        5 * 32 * 8 * 4);
  CHECK(forward_work(swish, false, {.fused = true}).bytes == forward_work(norm, false, {.fused = true}).bytes);
}

TEST_CASE("what cannot stand behind a layer is refused") {
  CHECK_THROWS_WITH_AS(with_history("{name: a, in: 16, out: 8, residual: true}"),
                       doctest::Contains("reads 16 columns and writes 8"), Error);
  CHECK_THROWS_WITH_AS(with_history("{name: a, in: 16, out: 8, pool: mean}"), doctest::Contains("which have no items"),
                       Error);
  CHECK_THROWS_WITH_AS(with_history(std::string(kBlock) + ", per: sample}"), doctest::Contains("works on items"),
                       Error);
}

}  // namespace shardsim::dense_work_test
