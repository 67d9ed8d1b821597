#include "study/notes/slower_hardware.h"

#include <doctest/doctest.h>

#include "study/result/choices.h"
#include "study/scenario/scenario.h"
#include "tests/physics/lab.h"

namespace shardsim::slower_hardware_test {
namespace {

// Cases with one planner on one cluster, whose NICs differ; the plans are numbered.
struct Sample {
  Scenario scenario;
  StudyResult study;

  void add(const std::string& name, double gbits, double ms, int plan) {
    Case item;
    item.name = name;
    item.cluster = physics::cluster_spec("dgx_h100.yaml");
    item.cluster.nics->rate = {gbits * 1e9 / 8};
    scenario.cases.push_back(item);
    CaseResult result;
    result.name = name;
    result.iteration_ms = ms;
    result.placements.resize(1);
    result.placements[0].table = std::to_string(plan);
    study.cases.push_back(result);
  }
  std::vector<std::string> notes(std::size_t of) {
    add_slower_hardware_notes(study, scenario);
    return study.cases[of].notes;
  }
};

bool has(const std::vector<std::string>& notes, const std::string& text) {
  return notes.size() == 1 && notes[0].find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a case that beats others on better hardware says so, also where their plans differ") {
  Sample sample;
  sample.add("slow", 200, 10, 1);
  sample.add("fast", 400, 11, 2);
  const auto notes = sample.notes(0);
  CHECK(has(notes, "It is 10 % faster than fast, although nothing of its cluster is faster. Its plan is another one"));
  CHECK(sample.study.cases[1].notes.empty());
  CHECK(sample.study.cases[0].beats_better_hardware == "10 % faster than fast");
  CHECK(sample.study.cases[1].beats_better_hardware.empty());
  CHECK(sample.study.cases[0].why_better_hardware_loses == kAnotherPlan);
  CHECK(is_faster_on_slower_hardware(sample.study.cases[0], sample.study.cases[1], sample.scenario));
}

TEST_CASE("of many that a case beats, three are named, the slowest first") {
  Sample sample;
  sample.add("slow", 100, 10, 1);
  for (int i = 1; i <= 5; ++i) sample.add("c" + std::to_string(i), 100 + i, 10 + i, 1);
  CHECK(
      has(sample.notes(0), "It is 50 % faster than c5, 40 % faster than c4, 30 % faster than c3 and 2 more, although"));
}

TEST_CASE("no note where the better hardware is the faster one, or another planner was asked") {
  Sample sample;
  sample.add("slow", 200, 11, 1);
  sample.add("fast", 400, 10, 2);
  CHECK(sample.notes(0).empty());
  Sample other;
  other.add("slow", 200, 10, 1);
  other.add("fast", 400, 11, 2);
  other.scenario.cases[1].planner = physics::named("row_wise");
  CHECK(other.notes(0).empty());
}

}  // namespace shardsim::slower_hardware_test
