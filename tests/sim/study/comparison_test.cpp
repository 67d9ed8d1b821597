#include <doctest/doctest.h>

#include "sim/study/case_result.h"

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
  compare_throughput(other, base);
  return other.published.at(0).predicted.value();
}

}  // namespace

TEST_CASE("a throughput gain is one in samples per second, whatever the batches are") {
  CHECK(gain(1024, 5) == doctest::Approx(100));
  CHECK(gain(512, 5) == doctest::Approx(0));  // half the work in half the time
  CHECK(gain(2048, 10) == doctest::Approx(100));
}

}  // namespace shardsim::comparison_test
