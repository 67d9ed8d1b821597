#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "topology/spec/gpu_models.h"

namespace shardsim::roofline_test {
namespace {

GpuSpec a100() {
  GpuSpec gpu;
  gpu.copy_bandwidth = {1391e9};
  gpu.sort_per_lookup = {1.5e-9};
  gpu.flops["fp32"] = {19.5e12};
  return gpu;
}

Seconds roofline(const ComputeWork& work, const GpuSpec& gpu) {
  return make_compute_model(parse_yaml("name: roofline", "t"))->seconds(work, gpu);
}

ComputeWork lookup(double bytes, double lookups) {
  ComputeWork work;
  work.kind = ComputeWork::Kind::lookup;
  work.hbm_bytes = bytes;
  work.lookups = lookups;
  return work;
}

}  // namespace

TEST_CASE("a lookup bound by memory takes bytes over the copy rate plus the kernel start") {
  // Measured V100 forward, 8 tables x 1,000,000 rows, D64, batch 2048, 100 lookups: 518 to 524 us; 425,921,369 bytes
  // from memory at 817 GB/s and a start of 2.5 us are 523.8 us.
  GpuSpec v100 = a100();
  v100.copy_bandwidth = {817e9};
  v100.kernel_overhead = {2.5e-6};
  CHECK(roofline(lookup(425'921'369, 1'638'400), v100).us() == doctest::Approx(523.8).epsilon(1e-4));
}

TEST_CASE("a lookup of narrow rows is bound by 20 lookups per ns") {
  CHECK(roofline(lookup(1e6, 2e7), a100()).us() == doctest::Approx(3 + 1000));
}

TEST_CASE("a sort alone takes its start and a share for each pair") {
  ComputeWork sort;
  sort.kind = ComputeWork::Kind::sort;
  sort.lookups = 1e6;
  CHECK(roofline(sort, a100()).us() == doctest::Approx(3 + 1500));
}

TEST_CASE("what was fitted of a GPU says which operations it was not fitted for") {
  GpuSpec gpu = a100();
  CHECK(outside_fit(lookup(1, 1), gpu).empty());
  gpu.holds_for = WorkRange{{1 << 20}, Bytes{1 << 30}, 0, 0};
  CHECK(outside_fit(lookup(2e6, 1e4), gpu).empty());
  CHECK(outside_fit(lookup(1024, 1), gpu) == "1 KiB (fitted from 1 MiB on)");
  CHECK(outside_fit(lookup(0x1p31, 1e7), gpu) == "2 GiB (fitted up to 1 GiB)");
  ComputeWork product;
  product.flops = 5e9;
  CHECK(outside_fit(product, gpu).empty());  // none was fitted
  gpu.holds_for->gflop_to = 4;
  CHECK(outside_fit(product, gpu) == "5 GFLOP (fitted up to 4)");
  product.fixed = {1e-6};
  CHECK(outside_fit(product, gpu).empty());
}

TEST_CASE("dense work is bound by half of the fp32 rate") {
  ComputeWork work;
  work.flops = 19.5e9;
  CHECK(roofline(work, a100()).us() == doctest::Approx(3 + 2000));
}

TEST_CASE("dense work runs at the rate of its precision, which the GPU must state") {
  GpuSpec gpu = a100();
  gpu.flops["tf32"] = {156e12};
  ComputeWork work;
  work.flops = 156e9;
  work.precision = "tf32";
  CHECK(roofline(work, gpu).us() == doctest::Approx(3 + 2000));
  work.precision = "bf16";
  CHECK_THROWS_AS(roofline(work, gpu), Error);
}

TEST_CASE("a sorted update is six kernels, a sort, and traffic at half the copy rate") {
  ComputeWork work = lookup(1.391e9, 1e6);
  work.kind = ComputeWork::Kind::update;
  work.sorted_update = true;
  CHECK(roofline(work, a100()).us() == doctest::Approx(6 * 3 + 1500 + 2000));
  work.sorted_update = false;
  CHECK(roofline(work, a100()).us() == doctest::Approx(3 + 1000));
}

TEST_CASE("a measured duration replaces the model") {
  ComputeWork work = lookup(1e12, 1e12);
  work.fixed = {26e-3};
  CHECK(roofline(work, a100()).ms() == 26);
}

TEST_CASE("more work never takes less time, a faster memory never more") {
  Seconds before{0};
  for (double scale = 1; scale < 1e9; scale *= 7) {
    const Seconds now = roofline(lookup(100 * scale, scale), a100());
    CHECK(now >= before);
    before = now;
    GpuSpec faster = a100();
    faster.copy_bandwidth = {2 * 1391e9};
    CHECK(roofline(lookup(100 * scale, scale), faster) <= now);
  }
}

TEST_CASE("unknown compute models and options are refused") {
  CHECK_THROWS_WITH_AS(make_compute_model(parse_yaml("name: rooflin", "s.yaml")), doctest::Contains("'roofline'"),
                       Error);
  CHECK_THROWS_WITH_AS(make_compute_model(parse_yaml("name: roofline\nspeed: 2", "s.yaml")),
                       doctest::Contains("s.yaml:2"), Error);
  CHECK_THROWS_AS(make_compute_model(parse_yaml("speed: 2", "s.yaml")), Error);
}

TEST_CASE("the keys that the roofline alone reads are told, each that is not as usual") {
  GpuSpec gpu;
  gpu.model = "H100-SXM5-80GB";
  gpu.compute_capability = "9.0";
  gpu = usual_gpu(gpu);
  CHECK(roofline_keys(gpu).empty());
  gpu.kernel_overhead = Seconds{1};  // which other models read, too
  CHECK(roofline_keys(gpu).empty());
  gpu.lookups_per_ns = 1;
  CHECK(roofline_keys(gpu) == std::vector<std::string>{"gpu.lookups_per_ns"});
  gpu.flops_efficiency = 1;
  gpu.sort_per_lookup = Seconds{1};
  gpu.sorted_update_kernels = 1;
  gpu.sorted_update_efficiency = 1;
  CHECK(roofline_keys(gpu).size() == 5);
}

TEST_CASE("GPUs have gpu_kernels, unless the cluster's file states what their kernels reach") {
  CHECK(compute_model_name(parse_yaml("{}", "t")) == "gpu_kernels");
  CHECK(kernel_family_name(parse_yaml("{}", "t")) == "fbgemm");
  CHECK(kernel_family_name(parse_yaml("{name: gpu_kernels, kernels: hugectr}", "t")) == "hugectr");
  CHECK(kernel_family_name(parse_yaml("{name: roofline}", "t")).empty());
  GpuSpec gpu;
  gpu.model = "H100-SXM5-80GB";
  gpu.compute_capability = "9.0";
  gpu = usual_gpu(gpu);
  CHECK(usual_compute_model(gpu) == "gpu_kernels");
  GpuSpec calibrated = gpu;
  calibrated.holds_for.emplace();
  CHECK(usual_compute_model(calibrated) == "roofline");
  GpuSpec stated = gpu;
  stated.flops_efficiency = 1;
  CHECK(usual_compute_model(stated) == "gpu_kernels");  // its kernels are known
  stated.model = "made up";
  CHECK(usual_compute_model(stated) == "roofline");
  GpuSpec unknown = gpu;
  unknown.model = "H900";
  CHECK(usual_compute_model(usual_gpu(unknown)) == "gpu_kernels");
  GpuSpec cpu = gpu;
  cpu.compute_capability = "0.0";
  CHECK(usual_compute_model(cpu) == "roofline");
}

TEST_CASE("a sort takes 0.05 ns a lookup on 132 SMs, and longer on fewer") {
  GpuSpec gpu;
  gpu.model = "H100-SXM5-80GB";
  CHECK(usual_gpu(gpu).sort_per_lookup.value == doctest::Approx(0.05e-9));
  gpu.model = "A100-SXM4-80GB";
  CHECK(usual_gpu(gpu).sort_per_lookup.value == doctest::Approx(0.05e-9 * 132 / 108));
}

TEST_CASE("the model is known by its name") {
  CHECK(is_roofline(parse_yaml("name: roofline", "t")));
  CHECK(!is_roofline(parse_yaml("name: gpu_kernels", "t")));
}

}  // namespace shardsim::roofline_test
