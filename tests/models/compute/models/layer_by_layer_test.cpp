#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"

namespace shardsim::layer_by_layer_test {
namespace {

double us(const ComputeWork& work, const std::string& options = "") {
  const auto model = make_compute_model(parse_yaml("{name: gpu_kernels" + options + "}", "test"));
  return model->seconds(work, spec_of(*shipped_gpu_table().find("H100-SXM5-80GB"))).us();
}

ComputeWork product(double m, double n, double k) {
  ComputeWork work;
  work.precision = "fp16";
  work.flops = 2 * m * n * k;
  work.products = {{{m, n, k}}};
  return work;
}

}  // namespace

TEST_CASE("gpu_kernels: products, passes and kernels of one operation add up") {
  const ComputeWork one = product(6912, 1024, 3456), other = product(6912, 512, 1024);
  ComputeWork passes;
  passes.kernels = 3;
  passes.hbm_bytes = 3e9 / 1e4;
  ComputeWork all = one;
  all.products.push_back({other.products[0].product, 2});
  all.kernels = 3;
  all.hbm_bytes = passes.hbm_bytes;
  CHECK(us(all) == doctest::Approx(us(one) + 2 * us(other) + us(passes)));
  CHECK(us(passes, ", kernel_fixed: 10 us") == doctest::Approx(us(passes, ", kernel_fixed: 0 us") + 30));
  CHECK(us(one, ", in_situ: 0.5") > 1.5 * us(one));
}

TEST_CASE("gpu_kernels: what is asked on one GPU stays of that GPU when others are asked about in between") {
  const auto model = make_compute_model(parse_yaml("name: gpu_kernels", "test"));
  const GpuSpec h100 = spec_of(*shipped_gpu_table().find("H100-SXM5-80GB"));
  const GpuSpec a100 = spec_of(*shipped_gpu_table().find("A100-SXM4-80GB"));
  const ComputeWork work = product(6912, 1024, 3456);
  const ComputeModel::OnGpu on_h100 = model->on(h100), on_a100 = model->on(a100);
  const double of_h100 = on_h100(work).us(), of_a100 = on_a100(work).us();
  CHECK(of_h100 == us(work));
  CHECK(of_a100 > 1.5 * of_h100);
  CHECK(model->seconds(work, a100).us() == of_a100);
  CHECK(on_h100(work).us() == of_h100);
  ComputeWork measured = work;
  measured.fixed = Seconds{3e-6};
  CHECK(on_a100(measured).value == 3e-6);
}

TEST_CASE("gpu_kernels: a product at a share of the peak takes its FLOP, whatever its shape") {
  ComputeWork work = product(1e9, 2, 256);
  work.products[0].share = 0.5;
  const double peak = spec_of(*shipped_gpu_table().find("H100-SXM5-80GB")).flops.at("fp16").per_second;
  CHECK(us(work, ", kernel_fixed: 0 us, in_situ: 0.5") == doctest::Approx(1e6 * work.flops / (0.5 * peak)));
}

// An optimizer's pass over all rows of tables keeps the rate that was found for it.
TEST_CASE("gpu_kernels: counted kernels change nothing of a pass over all rows") {
  ComputeWork apply;
  apply.kind = ComputeWork::Kind::update;
  apply.hbm_bytes = 1e9;
  const double before = us(apply);
  apply.kernels = 1;
  CHECK(us(apply) == before);
}

}  // namespace shardsim::layer_by_layer_test
