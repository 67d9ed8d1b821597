#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "base/hdf5/hdf5.h"
#include "plan/autoshard/trainer.h"
#include "tests/base/error_text.h"
#include "tests/plan/autoshard/test_tasks.h"

namespace shardsim::policy_file_test {

namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("policy_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

ShardingPolicy small_policy() {
  PolicyTraining training;
  training.updates = 1;
  training.cost_batch = 16;
  ShardingPolicy policy = train_policy(made_up_tasks(2, 4, 2, 1), training);
  policy.data = "two tasks";
  policy.balance = 0.5;
  return policy;
}

std::string refusal(const fs::path& file, const std::string& provider = "") {
  return input_error_of([&] { read_policy(file, provider); });
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a policy reads back as it was written, under a megabyte, in the same bytes") {
  const Folder folder;
  const ShardingPolicy policy = small_policy();
  save_policy(policy, folder.path / "a.h5");
  save_policy(policy, folder.path / "b.h5");
  CHECK(bytes_of(folder.path / "a.h5") == bytes_of(folder.path / "b.h5"));
  CHECK(fs::file_size(folder.path / "a.h5") < 1'000'000);
  const ShardingPolicy again = read_policy(folder.path / "a.h5", "closed_form");
  CHECK(again.parameters == policy.parameters);
  CHECK(again.features == policy.features);
  CHECK(again.used == policy.used);
  CHECK(again.setting == policy.setting);
  CHECK(again.data == "two tasks");
  CHECK(again.data_hash == policy.data_hash);
  CHECK(again.unit_seconds == policy.unit_seconds);
  CHECK(again.balance == 0.5);
}

TEST_CASE("files that are no whole policy are refused by name") {
  const Folder folder;
  const fs::path whole = folder.path / "whole.h5", part = folder.path / "part.h5";
  save_policy(small_policy(), whole);
  const std::string bytes = bytes_of(whole);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(part, std::ios::binary) << bytes.substr(0, size);
    CHECK(has(refusal(part), "part.h5"));
  }
  CHECK(has(refusal(folder.path / "none.h5"), "none.h5"));
  CHECK(has(refusal(whole, "cuda"), "not cuda"));
  ShardingPolicy broken = small_policy();
  broken.parameters.pop_back();
  save_policy(broken, part);
  CHECK(has(refusal(part), "/parameters"));
  broken = small_policy();
  broken.parameters[7] = std::numeric_limits<float>::quiet_NaN();
  save_policy(broken, part);
  CHECK(has(refusal(part), "not finite"));
  broken = small_policy();
  broken.setting.batch = 0;
  save_policy(broken, part);
  CHECK(has(refusal(part), "its batch is 0, and must be at least 1"));
  Hdf5Writer other;
  other.text_attribute("/", "schema", "shardsim.cost_model/1");
  other.save(part);
  CHECK(has(refusal(part), "shardsim.cost_model/1"));
}

TEST_CASE("a policy serves the batch, the optimizer and the type of rows that it was trained on") {
  const ShardingPolicy policy = small_policy();
  Rng rng(1);
  ShardingTask task = made_up_task(4, 2, rng);
  CHECK_NOTHROW(check_fits(policy, task, {}));
  for (const auto change : {+[](LabelSetting& s) { s.batch = 65; }, +[](LabelSetting& s) { s.optimizer = "adam"; },
                            +[](LabelSetting& s) { s.dtype = "fp16"; }}) {
    ShardingTask changed = task;
    change(changed.setting);
    CHECK_THROWS_AS(check_fits(policy, changed, {}), Error);
  }
}

}  // namespace shardsim::policy_file_test
