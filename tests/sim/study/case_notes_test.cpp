#include <doctest/doctest.h>

#include "sim/study/case_result.h"

using namespace shardsim;

namespace {

bool holds(const std::vector<std::string>& notes, const std::string& part) {
  for (const std::string& note : notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

CaseResult unsteady() {
  CaseResult result;
  result.iteration_ms = 50;
  result.timeline.steady = false;
  return result;
}

}  // namespace

TEST_CASE("a note on iterations that differ says by how much") {
  CaseResult result = unsteady();
  result.last_change = 0.0123;
  CHECK(holds(case_notes(result, {}, {}), "Not steady after 4 iterations: the last one, which is shown, takes +1.2 %"));
  result.last_change = -0.5;
  CHECK(holds(case_notes(result, {}, {}), "takes -50 % against the one before it"));
  result.last_change.reset();
  CHECK(holds(case_notes(result, {}, {}), "One iteration was simulated"));
  result.timeline.steady = true;
  CHECK(case_notes(result, {}, {}).empty());
}

TEST_CASE("a note on a fabric that collapses says how much of the iteration is at stake") {
  CaseResult result = unsteady();
  result.timeline.steady = true;
  NamedTime time;
  time.op_class = "all_to_all";
  time.exposed_ms = 6;
  time.waiting_ms = 1;
  result.times = {time, time};
  Case item;
  CHECK(case_notes(result, item, {}).empty());
  item.cluster.fabric.collapse = true;
  CHECK(holds(case_notes(result, item, {}), "the 10.00 ms (20 % of the iteration)"));
}
