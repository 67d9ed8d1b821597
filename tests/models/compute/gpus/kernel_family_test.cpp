

#include "models/compute/gpus/kernel_family.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/tree/yaml.h"
#include "tests/base/edited_text.h"
#include "tests/base/error_text.h"

namespace shardsim::kernel_family_test {
namespace {

std::string family_file(const std::string& name) {
  return read_file((data_folder() / "scenarios" / "gpus" / (name + ".yaml")).string());
}

std::string family_fault(const std::string& text) {
  return error_of([&] { kernel_family_from_tree(parse_yaml(text, "f.yaml")); });
}

}  // namespace

TEST_CASE("every shipped family is read, states where its numbers come from, and is of a GPU that is known") {
  const GpuTable gpus = shipped_gpu_table();
  for (const std::string& name : table_kernel_names()) {
    const KernelFamily family = shipped_kernel_family(name, {});
    CHECK(family.name == name);
    CHECK(gpus.find(family.gpu) != nullptr);
    int numbers = 0;
    visit_numbers(family, [&](std::string_view, const char*, const auto&) { ++numbers; });
    CHECK(family.sources.size() == static_cast<std::size_t>(numbers) + 2);  // l1, l2_share
  }
}

TEST_CASE("a family keeps its numbers on its own GPU, and others have them by their rates") {
  const GpuTable gpus = shipped_gpu_table();
  const KernelFamily family = shipped_kernel_family("fbgemm", {});
  const GpuConstants own = *gpus.find(family.gpu), faster = *gpus.find("H200");
  CHECK(carried_to(family, own, own).lookup.memory == family.lookup.memory);
  CHECK(carried_to(family, own, own).update.row == family.update.row);
  const KernelFamily carried = carried_to(family, faster, own);
  CHECK(carried.lookup.memory.bytes_per_second / family.lookup.memory.bytes_per_second ==
        doctest::Approx(faster.copy_bandwidth.bytes_per_second / own.copy_bandwidth.bytes_per_second));
  CHECK(carried.lookup.start == family.lookup.start);
  const KernelFamily older = carried_to(family, *gpus.find("V100"), own);
  CHECK(older.update.pair.value / family.update.pair.value == doctest::Approx(own.sm_count / 80.0));
}

TEST_CASE("a family with an unknown, a missing or an impossible number is refused") {
  const std::string good = family_file("fbgemm");
  CHECK(family_fault(good).empty());
  CHECK(family_fault(edited(good, "  start:", "  begin:")).find("start") != std::string::npos);
  CHECK(family_fault(edited(good, "least_lanes: 8", "least_lanes: 7")).find("least_lanes") != std::string::npos);
  CHECK(family_fault(edited(good, "shardsim.kernels/1", "shardsim.gpus/1")).find("schema") != std::string::npos);
  CHECK_FALSE(family_fault(edited(good, "name: fbgemm\n", "")).empty());
}

}  // namespace shardsim::kernel_family_test
