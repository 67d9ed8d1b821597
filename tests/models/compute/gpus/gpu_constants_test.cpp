#include "models/compute/gpus/gpu_constants.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "base/tree/yaml.h"
#include "tests/base/error_text.h"
#include "topology/spec/gpu_models.h"

namespace shardsim::gpu_constants_test {
namespace {

std::string fault_of(const std::string& yaml) {
  return error_of([&] { gpu_table_from_tree(parse_yaml(yaml, "gpus.yaml"), shipped_gpu_table()); });
}

}  // namespace

TEST_CASE("the shipped table has every GPU from V100 to GB300, and each number of it a source") {
  const GpuTable table = shipped_gpu_table();
  for (const char* const name :
       {"V100", "A100", "A40", "L40", "L40S", "H100", "H200", "B200", "B300", "GB200", "GB300"})
    CHECK_MESSAGE(table.find(name) != nullptr, name);
  for (const GpuConstants& gpu : table.gpus) {
    CHECK_MESSAGE(gpu.sources.size() >= 27, gpu.name);
    for (const SourcedValue& value : gpu.sources) {
      CHECK_MESSAGE(!value.source.empty(), gpu.name << " " << value.path);
      CHECK_MESSAGE(value.fitted == !value.fitted_on.empty(), gpu.name << " " << value.path);
    }
  }
}

TEST_CASE("a number that was chosen with judged rows in view says so, and counts as a guess") {
  for (const GpuConstants& gpu : shipped_gpu_table().gpus) {
    const auto of = [&](const char* key) { return std::ranges::find(gpu.sources, key, &SourcedValue::path); };
    const auto fp32 = of("fp32_share");
    REQUIRE(fp32 != gpu.sources.end());
    CAPTURE(gpu.name);
    CHECK((fp32->fitted || (fp32->source.starts_with("guess") &&
                            fp32->source.find("chosen with judged rows in view") != std::string::npos)));
    CHECK(of("tile_128x64_share")->source == "guess");
    CHECK(of("bags_of_sm")->source.starts_with("published"));
  }
}

TEST_CASE("a GPU is found by its product, else by the words of its name, the most of them first") {
  const GpuTable table = shipped_gpu_table();
  const auto name_of = [&](const std::string& said) {
    const GpuConstants* const gpu = table.find(said);
    return gpu == nullptr ? std::string("none") : gpu->name;
  };
  CHECK(name_of("V100-SXM2-32GB") == "V100-SXM2-16GB");
  CHECK(name_of("NVIDIA V100 (volta_ kernel names in the same trace)") == "V100-SXM2-16GB");
  CHECK(name_of("NVIDIA A100 80GB PCIe") == "A100-PCIE-80GB");
  CHECK(name_of("H200-NVL-141GB") == "H200-NVL-141GB");
  CHECK(name_of("A30") == "A30");
  CHECK(name_of("NVIDIA A100 40GB (p4d.24xlarge)") == "A100-SXM4-40GB");
  CHECK(name_of("a100-sxm4-80 GB") == "A100-SXM4-80GB");
  CHECK(name_of("H100 PCIe") == "H100-PCIE-80GB");
  CHECK(name_of("H100-SXM5-94GB") == "H100-SXM5-80GB");
  CHECK(name_of("GB200") == "GB200-186GB");
  CHECK(name_of("RTX 5090") == "none");
  CHECK(name_of("not stated") == "none");
}

TEST_CASE("a GPU that nobody knows is like the nearest generation that is not newer, scaled by its data sheet") {
  const GpuTable table = shipped_gpu_table();
  const auto spec = [](const char* model, const char* capability, double hbm, double fp32) {
    GpuSpec gpu;
    gpu.model = model;
    gpu.compute_capability = capability;
    gpu.hbm_bandwidth = {hbm};
    gpu.flops["fp32"] = {fp32};
    return usual_gpu(gpu);
  };
  const auto like = [&](const GpuSpec& gpu) { return table.nearest(gpu)->name; };
  const GpuSpec turing = spec("RTX 2080 Ti", "7.5", 616e9, 13.4e12);
  CHECK(like(turing) == "V100-SXM2-16GB");
  CHECK(like(spec("RTX 4090", "8.9", 1008e9, 82.6e12)).starts_with("L40"));
  CHECK(like(spec("H20", "9.0", 4000e9, 44e12)) == "GH200-96GB");  // of its generation, by the rate of memory
  CHECK(like(spec("P100", "6.0", 732e9, 9.5e12)) == "V100-SXM2-16GB");
  CHECK(like(spec("RTX 5090", "12.0", 1792e9, 105e12)).find("300") != std::string::npos);
  const GpuConstants v100 = *table.find("V100");
  const GpuConstants scaled = table.constants_of("", turing).value();
  CHECK(scaled.copy_bandwidth.bytes_per_second == doctest::Approx(v100.copy_bandwidth.bytes_per_second * 616 / 900));
  CHECK(scaled.sm_count == 68);  // 80 x 13.4 / 15.7: the card has 68
  CHECK(scaled.sort_pairs_per_ns == doctest::Approx(v100.sort_pairs_per_ns * 13.4 / 15.7));
  CHECK(scaled.l2.count == doctest::Approx(static_cast<double>(v100.l2.count) * 68 / 80));
  CHECK(table.constants_of("A100", turing)->name == "A100-SXM4-40GB");
  CHECK_FALSE(table.constants_of("", spec("cpu_rank", "0.0", 5e9, 5e9)));
}

TEST_CASE("a file adds a GPU like another one, and its plain numbers have no source of the other") {
  const GpuTable table = gpu_table_from_tree(
      parse_yaml("schema: shardsim.gpus/1\ngpus:\n  - {name: mine, like: H100-SXM5-80GB, copy_bandwidth: 2500 GB/s}\n",
                 "gpus.yaml"),
      shipped_gpu_table());
  const GpuConstants* const gpu = table.find("mine");
  REQUIRE(gpu != nullptr);
  CHECK(gpu->copy_bandwidth.bytes_per_second == 2500e9);
  CHECK(gpu->sm_count == 132);
  for (const SourcedValue& value : gpu->sources) CHECK(value.path != "copy_bandwidth");
}

TEST_CASE("what a table of GPUs cannot say is refused where it stands") {
  const std::string head = "schema: shardsim.gpus/1\ngpus:\n";
  CHECK(has(fault_of(head + "  - {name: mine, like: H101}\n"), "unknown GPU \"H101\". Known: "));
  CHECK(has(fault_of(head + "  - {name: mine}\n"), "the key 'hbm_bandwidth' is missing"));
  CHECK(has(fault_of(head + "  - {name: mine, like: A40, sm_counts: 3}\n"), "sm_count"));
  CHECK(
      has(fault_of(head + "  - {name: mine, like: A40, lookups_per_ns: 0}\n"), "lookups_per_ns: \"0\" is not above 0"));
  CHECK(has(fault_of(head + "  - {name: mine, like: A40}\n  - {name: mine, like: L40}\n"), "appears twice"));
}

TEST_CASE("what a cluster file says of its GPU otherwise than by default goes before the table") {
  const GpuConstants a100 = *shipped_gpu_table().find("A100-SXM4-40GB");
  GpuSpec spec = spec_of(a100);
  CHECK(with_stated(a100, spec).copy_bandwidth == a100.copy_bandwidth);
  CHECK(with_stated(a100, spec).kernel_fixed == a100.kernel_fixed);
  spec.copy_bandwidth = {1000e9};
  spec.kernel_overhead = {17e-6};
  spec.l2 = {1 << 20};
  const GpuConstants stated = with_stated(a100, spec);
  CHECK(stated.copy_bandwidth.bytes_per_second == 1000e9);
  CHECK(stated.kernel_fixed.value == 17e-6);
  CHECK(stated.l2.count == 1 << 20);
  CHECK(stated.gather_l2 == a100.gather_l2);
}

TEST_CASE("copies keep their part of the data sheet's rate where a cluster states another one") {
  const GpuConstants h100 = *shipped_gpu_table().find("H100-SXM5-80GB");
  GpuSpec spec = spec_of(h100);
  spec.hbm_bandwidth = {0.5 * h100.hbm_bandwidth.bytes_per_second};
  spec.copy_bandwidth = usual_gpu(spec).copy_bandwidth;  // as a file without one is read
  CHECK(with_stated(h100, spec).copy_bandwidth.bytes_per_second ==
        doctest::Approx(0.5 * h100.copy_bandwidth.bytes_per_second));
  spec.copy_bandwidth = {1000e9};
  CHECK(with_stated(h100, spec).copy_bandwidth.bytes_per_second == 1000e9);
}

TEST_CASE("the L2 of a product without defaults is stated by its own key alone, whatever copies do") {
  const GpuConstants l40s = *shipped_gpu_table().find("L40S");
  GpuSpec spec = spec_of(l40s);
  spec.copy_bandwidth = {1000e9};  // changed after reading: the L2 of the file stays
  CHECK(with_stated(l40s, spec).gather_l2 == l40s.gather_l2);
  spec.l2_bandwidth = spec.copy_bandwidth;  // as a file that states the copies is read
  CHECK(with_stated(l40s, spec).gather_l2 == l40s.gather_l2);
  spec.l2_bandwidth = {3000e9};
  CHECK(with_stated(l40s, spec).gather_l2.bytes_per_second == 3000e9);
}

}  // namespace shardsim::gpu_constants_test
