#include "study/run/published_comparison.h"

#include <doctest/doctest.h>

#include "study/run/case_result.h"

namespace shardsim::comparison_test {

namespace {

CaseResult result_of(const std::string& name, std::int64_t batch, double iteration_ms) {
  CaseResult result;
  result.name = name;
  result.world_size = 8;
  result.batch_per_gpu = batch;
  result.iteration_ms = iteration_ms;
  return result;
}

double gain(std::int64_t batch, double iteration_ms) {
  const CaseResult base = result_of("base", 1024, 10);
  CaseResult other = result_of("other", batch, iteration_ms);
  Published published;
  published.quantity = "throughput_gain";
  other.published = compared_with_published(other, {published});
  CHECK(!other.published.at(0).predicted);  // not before the other case is there
  compare_with_base(other, base);
  return other.published.at(0).predicted.value();
}

}  // namespace

TEST_CASE("a throughput gain is one in samples per second, whatever the batches are") {
  CHECK(gain(1024, 5) == doctest::Approx(100));
  CHECK(gain(512, 5) == doctest::Approx(0));  // half the work in half the time
  CHECK(gain(2048, 10) == doctest::Approx(100));
}

TEST_CASE("the time of an operation is that of its calls on the slowest rank; one that is not there has none") {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.iteration_ms = 5;
  timeline.iterations_run = 1;
  timeline.ranks_per_node = 2;
  timeline.hbm_bytes = timeline.bytes_out = timeline.bytes_in = {0, 0};
  timeline.ops = {{"lookup", "lookup"}, {"update", "update"}};
  timeline.streams = {"compute"};
  timeline.spans = {{0, 1000, 0, 0, 0, 0}, {0, 2000, 1, 0, 0, 0}, {2000, 4000, 0, 0, 1, 0}, {2000, 5000, 1, 0, 1, 0}};
  CaseResult result = result_of("case", 64, 5);
  result.timeline = timeline;
  result.times = named_times(timeline);
  Published lookup, other;
  lookup.quantity = "operation:lookup";
  lookup.value = 4;
  other.quantity = "operation:dense_forward";
  const std::vector<Comparison> compared = compared_with_published(result, {lookup, other});
  CHECK(compared.at(0).predicted.value() == doctest::Approx(2));
  CHECK(compared.at(0).error_pct().value() == doctest::Approx(-50));
  CHECK(!compared.at(1).predicted);
}

}  // namespace shardsim::comparison_test
