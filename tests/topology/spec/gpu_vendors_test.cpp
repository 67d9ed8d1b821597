
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tests/base/error_text.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/gpu_models.h"

namespace shardsim::gpu_vendors_test {

TEST_CASE("GPUs of other vendors are named, and no model is lent to them") {
  const std::vector<std::pair<const char*, const char*>> vendors = {
      {"AMD Instinct MI300X", "AMD"}, {"mi325x", "AMD"},    {"gfx942", "AMD"},        {"Gaudi3", "Habana"},
      {"Hygon BW150", "Hygon"},       {"K100_AI", "Hygon"}, {"Ascend910B", "Huawei"}, {"Intel Max 1550", "Intel"}};
  for (const auto& row : vendors) {
    const char* const name = row.first;
    CAPTURE(std::string(name));
    CHECK(foreign_gpu_vendor(name) == row.second);
    CHECK(error_of([&] { find_gpu_model(name); }).find("is a GPU of ") != std::string::npos);
    ImportOptions lent;
    lent.gpu_model = name;
    lent.gpu_like = "H100-SXM5-80GB";
    CHECK(error_of([&] { chosen_model(lent); }).find("Only GPUs of NVIDIA are modelled") != std::string::npos);
  }
  for (const GpuModel& model : gpu_models()) CHECK(foreign_gpu_vendor(model.name) == "");
  CHECK(foreign_gpu_vendor("NVIDIA A100-SXM4-40GB MIG 1g.5gb") == "");
}

}  // namespace shardsim::gpu_vendors_test
