// Any bytes as a model of somebody else: a CSV of tables, or the JSON of TorchRec's configurations and plan. A model
// that can be read becomes files that are read back, or an Error.
#include <cstdint>
#include <string_view>

#include "base/tree/json.h"
#include "study/import/imported_model.h"
#include "study/import/model_files.h"
#include "tests/fuzz/error_at_most.h"

using shardsim::fuzz::expect_error_at_most;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto write = [](const shardsim::ImportedModel& model) {
    shardsim::ImportSetting setting;
    setting.cluster = "toy_2x4";
    setting.planner = "row_wise";
    setting.in_place = true;
    shardsim::model_files(model, setting);
    shardsim::assumptions(model, setting);
  };
  expect_error_at_most([&] { write(shardsim::model_from_csv(text, "fuzz.csv")); });
  expect_error_at_most(
      [&] { write(shardsim::model_from_torchrec(shardsim::parse_json(text, "fuzz.json"), "fuzz.json")); });
  expect_error_at_most([&] {
    shardsim::ImportedModel model;
    shardsim::take_plan(model, shardsim::parse_json(text, "fuzz.json"));
  });
  expect_error_at_most([&] {
    if (const auto plan = shardsim::printed_plan(text, "fuzz.txt"))
      write(shardsim::model_from_torchrec(*plan, "fuzz.txt"));
    if (const auto model = shardsim::printed_statistics(text, "fuzz.txt"))
      write(shardsim::model_from_torchrec(model->model, "fuzz.txt"));
  });
  return 0;
}
