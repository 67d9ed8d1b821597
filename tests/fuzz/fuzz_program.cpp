// Any bytes as what programs of this project hand to each other: a Program file, result.json, the record of a sweep's
// point, frames between ranks. A value that is written as it was read, or an Error; of frames never one longer than the
// reader allows.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/tree/json.h"
#include "program/program_file.h"
#include "study/report/documents/result_json.h"
#include "study/sweep/point_result.h"
#include "tests/fuzz/error_at_most.h"
#include "validate/execute/meet/frame.h"

using shardsim::fuzz::expect_error_at_most;

namespace {

void read_program(std::string_view text) {
  const shardsim::Program program = shardsim::program_from_tree(shardsim::parse_json(text, "fuzz.json"));
  const std::string written = shardsim::program_to_json(program);
  if (shardsim::program_to_json(shardsim::program_from_tree(shardsim::parse_json(written, "again.json"))) != written)
    std::abort();
}

void read_result(std::string_view text) {
  const shardsim::StudyResult result = shardsim::result_from_tree(shardsim::parse_json(text, "fuzz.json"));
  expect_error_at_most([&] { shardsim::result_to_json(result); });
}

void read_frames(std::string_view bytes) {
  shardsim::FrameReader reader(shardsim::kLongestOfNewcomer);
  while (!bytes.empty() && !reader.garbled()) {
    const std::size_t some = std::min(bytes.size(), reader.room());
    reader.feed(bytes.data(), some);
    bytes.remove_prefix(some);
    std::size_t frames = 0;
    while (const auto frame = reader.next()) {
      if (frame->text.size() > shardsim::kLongestOfNewcomer) std::abort();
      ++frames;
    }
    if (some == 0 && frames == 0 && !reader.garbled())
      std::abort();  // neither room nor a frame: it would wait for ever
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_at_most([&] { read_program(text); });
  expect_error_at_most([&] { read_result(text); });
  expect_error_at_most([&] { shardsim::unpacked<shardsim::PointResult>(text); });
  read_frames(text);
  return 0;
}
