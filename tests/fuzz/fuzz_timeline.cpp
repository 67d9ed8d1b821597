// Any bytes as a Timeline in JSON, and as a Kineto trace: a Timeline that stands up to its own checks and can be
// compared with itself, or an Error.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/tree/json.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/timeline_json.h"
#include "tests/fuzz/error_at_most.h"
#include "validate/comparison/timeline_comparison.h"

namespace {

using shardsim::fuzz::expect_error_at_most;

constexpr int kRanks = 64;  // more are legal, and slow to sum up thousands of times

void use(const shardsim::Timeline& timeline) {
  if (!shardsim::timeline_fault(timeline).text.empty()) std::abort();
  if (timeline.world_size > kRanks) return;
  expect_error_at_most([&] {
    shardsim::compare_timelines(timeline, timeline, {"fuzz", "fuzz", {"a.json"}, {"b.json"}});
  });
}

void use_json(const shardsim::NamedTimeline& named) {
  use(named.timeline);
  const std::string text = shardsim::timeline_to_json(named.timeline, named.case_name);
  if (!(shardsim::timeline_from_tree(shardsim::parse_json(text, "again.json")).timeline == named.timeline))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  expect_error_at_most([&] { use_json(shardsim::timeline_from_tree(shardsim::parse_json(text, "fuzz.json"))); });
  expect_error_at_most([&] {
    std::istringstream in(text);
    use(shardsim::timeline_from_traces({shardsim::read_kineto_trace(in, "rank0.json")}, "fuzz").timeline);
  });
  return 0;
}
