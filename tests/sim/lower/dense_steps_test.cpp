#include "sim/lower/dense/dense_steps.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"

namespace shardsim::dense_steps_test {

namespace {

Workload with_layers(const std::string& layers, const std::string& interaction = "{kind: none}") {
  return read_workload(parse_yaml("schema: shardsim.workload/1\nname: dense\nbatch_per_gpu: 32\n"
                                  "tables: [{name: t, rows: 10, dim: 4, kind: sequence, average_length: 5},\n"
                                  "         {name: p, rows: 10, dim: 4, kind: pooled, pooling_factor: 7}]\n"
                                  "dense: {layers: [" +
                                      layers + "], interaction: " + interaction + "}\n",
                                  "dense"),
                       "");
}

std::vector<std::int64_t> buckets_of(const std::vector<DenseStep>& steps) {
  std::vector<std::int64_t> buckets;
  for (const DenseStep& step : steps) buckets.insert(buckets.end(), step.buckets.begin(), step.buckets.end());
  return buckets;
}

double flops_of(const std::vector<DenseStep>& steps) {
  double flops = 0;
  for (const DenseStep& step : steps) flops += step.flops;
  return flops;
}

}  // namespace

// A layer of 1023 x 1024 with its bias has 4 MiB of fp32 parameters.
TEST_CASE("gradients fill a bucket of 1 MiB, then buckets of 25 MiB") {
  const auto steps = dense_backward_steps(with_layers("{name: l, in: 1023, out: 1024, repeat: 10}"));
  CHECK(buckets_of(steps) == std::vector<std::int64_t>{4 * kMiB, 28 * kMiB, 8 * kMiB});
  REQUIRE(steps.size() == 3);
  const double layer = 4.0 * 32 * 1023 * 1024;
  CHECK(steps[0].flops == layer);
  CHECK(steps[1].flops == 7 * layer);
  CHECK(steps[2].flops == 1.5 * layer);  // the first layer needs no gradient of its input
}

TEST_CASE("a first layer above the embeddings needs the gradient of its input") {
  Workload workload = with_layers("{name: mlp, in: 64, out: 32}");
  CHECK(flops_of(dense_backward_steps(workload)) == 2.0 * 32 * 64 * 32);
  workload.dense.input_gradient = true;
  CHECK(flops_of(dense_backward_steps(workload)) == 4.0 * 32 * 64 * 32);
}

TEST_CASE("layers below the interaction are steps of their own, and share buckets with those above") {
  const Workload workload = with_layers("{name: bottom_0, in: 13, out: 64}, {name: top_0, in: 64, out: 32}");
  const auto steps = dense_backward_steps(workload);
  REQUIRE(steps.size() == 2);
  CHECK_FALSE(steps[0].bottom);
  CHECK(steps[0].buckets.empty());
  CHECK(steps[1].bottom);
  CHECK(buckets_of(steps) == std::vector<std::int64_t>{11'904});
  CHECK(dense_forward_flops(workload, true) == 2.0 * 32 * 13 * 64);
  CHECK(dense_forward_flops(workload, false) == 2.0 * 32 * 64 * 32);
}

TEST_CASE("a layer per item works on the items of sequences, and its input needs a gradient") {
  const Workload workload = with_layers("{name: attention, in: 8, out: 8, per: item}");
  CHECK(dense_forward_flops(workload, false) == 2.0 * 8 * 8 * 32 * 5);
  CHECK(flops_of(dense_backward_steps(workload)) == 4.0 * 8 * 8 * 32 * 5);
}

// By hand: batch 32; one feature of the pooled table and the bottom's output are 2 vectors of 4 columns. A sample's
// product is (2 x 4) by (4 x 2): 2 * 2 * 2 * 4 = 32 FLOP forward, and twice that backward, for the gradients of both
// its factors.
TEST_CASE("a dot interaction costs the product of all its vectors with each other") {
  const std::string layers = "{name: bottom_0, in: 13, out: 4}, {name: top_0, in: 7, out: 32}";
  const Workload plain = with_layers(layers), dot = with_layers(layers, "{kind: dot}");
  CHECK(dense_forward_flops(dot, false) - dense_forward_flops(plain, false) == 32 * 32);
  CHECK(dense_forward_flops(dot, true) == dense_forward_flops(plain, true));
  CHECK(flops_of(dense_backward_steps(dot)) - flops_of(dense_backward_steps(plain)) == 2 * 32 * 32);
  CHECK(buckets_of(dense_backward_steps(dot)) == buckets_of(dense_backward_steps(plain)));
}

TEST_CASE("a layer repeated without end costs no time to lower") {
  const auto steps = dense_backward_steps(with_layers("{name: l, in: 1, out: 1, repeat: 1000000000}"));
  CHECK(steps.size() == 1);
  CHECK(buckets_of(steps) == std::vector<std::int64_t>{4'000'000'000, 4'000'000'000});
}

TEST_CASE("whole tables go into buckets until one is full") {
  CHECK(gradient_buckets({100, 200, 300}) == std::vector<std::int64_t>{600});
  CHECK(gradient_buckets({2 * kMiB, 10 * kMiB, 10 * kMiB, 90 * kMiB, 5}) ==
        std::vector<std::int64_t>{2 * kMiB, 110 * kMiB, 5});
  CHECK(gradient_buckets({}).empty());
}

}  // namespace shardsim::dense_steps_test
