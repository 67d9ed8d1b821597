#include "sim/study/comparison.h"

#include <doctest/doctest.h>

using namespace shardsim;

namespace {

CaseResult result_of(const std::string& name, std::int64_t batch, double iteration_ms) {
  CaseResult result;
  result.name = name;
  result.world_size = 8;
  result.batch_per_gpu = batch;
  result.timeline.iteration_ms = iteration_ms;
  return result;
}

double gain(std::int64_t batch, double iteration_ms) {
  StudyResult study;
  study.cases = {result_of("base", 1024, 10), result_of("other", batch, iteration_ms)};
  Scenario scenario;
  scenario.cases.resize(2);
  scenario.cases[1].relative_to = "base";
  scenario.cases[1].published.resize(1);
  scenario.cases[1].published[0].quantity = "throughput_gain";
  compare_with_published(study, scenario);
  return study.cases[1].published.at(0).predicted.value();
}

}  // namespace

TEST_CASE("a throughput gain is one in samples per second, whatever the batches are") {
  CHECK(gain(1024, 5) == doctest::Approx(100));
  CHECK(gain(512, 5) == doctest::Approx(0));  // half the work in half the time
  CHECK(gain(2048, 10) == doctest::Approx(100));
}
