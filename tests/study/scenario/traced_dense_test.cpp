#include "study/scenario/traced_dense.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "base/tree/yaml.h"
#include "models/workload/workload.h"

namespace shardsim::traced_dense_test {

namespace {

using Phase = TracedStep::Phase;

// Milliseconds of kernels and of waiting, of each of four phases.
struct Step {
  double work = 0, waiting = 0;
};

TracedModel traced_step(const Step& of) {
  TracedModel traced;
  traced.path = "made.json";
  traced.steps = 3;
  const std::pair<Phase, double> shares[] = {
      {Phase::lookup, 0.1}, {Phase::forward, 0.3}, {Phase::backward, 0.4}, {Phase::update, 0.2}};
  for (const auto& [phase, share] : shares) {
    TracedStep::Part& part = traced.step.parts[phase];
    part.compute = {of.work * share * 1e-3};
    part.waiting = {of.waiting * share * 1e-3};
    traced.step.length = traced.step.length + part.all();
  }
  return traced;
}

struct Traces {
  std::vector<TracedModel> steps;
  std::vector<std::int64_t> sizes;

  void add(std::int64_t batch, const Step& step) {
    sizes.push_back(batch);
    steps.push_back(traced_step(step));
  }

  std::string imported(std::int64_t batch) const {
    TracedRest rest;
    for (std::size_t i = 0; i < sizes.size(); ++i) rest.batches.push_back({sizes[i], &steps[i]});
    rest.batch = batch;
    return traced_dense_text(rest);
  }
};

// Milliseconds of the iteration of a workload with such a dense part.
double read_ms(const std::string& dense, std::int64_t batch) {
  const std::string text = fmt::format(
      "schema: shardsim.workload/1\nname: traced\nbatch_per_gpu: {}\ntables: [{{name: a, rows: 10, dim: 4, kind: "
      "pooled, pooling_factor: 1}}]\n{}",
      batch, dense);
  return read_workload(parse_yaml(text, "traced"), "").dense.measured->rest.ms();
}

}  // namespace

TEST_CASE("a traced batch has the step that was traced, and those around it are as long") {
  std::mt19937_64 random(11);
  const auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  constexpr std::int64_t kGap = 512;
  for (int trial = 0; trial < 24; ++trial) {
    Traces traces;
    std::int64_t batch = 0;
    double longest = 0;
    for (int count = 2 + trial % 3; count > 0; --count) {
      batch += kGap + static_cast<std::int64_t>(draw(0, 2000));
      // Steps of which the host is the limit, or whose GPU waits a little, or never; longer or shorter than the ones
      // before.
      const double work = draw(1, 20), share = draw(0, 1);
      const Step step{work, work * (share < 0.3 ? 0 : share < 0.6 ? 0.04 : draw(0.1, 4))};
      longest = std::max(longest, step.work + step.waiting);
      traces.add(batch, step);
    }
    const double a_sample = 6 * longest / static_cast<double>(kGap);
    for (std::size_t i = 0; i < traces.sizes.size(); ++i) {
      const double traced = traces.steps[i].step.length.ms();
      const std::int64_t at = traces.sizes[i];
      CHECK(std::abs(read_ms(traces.imported(at), at) - traced) < 1e-5);
      for (const std::int64_t near : {at - 1, at + 1}) {
        CHECK(std::abs(read_ms(traces.imported(near), near) - traced) < a_sample + 1e-5);
        CHECK(std::abs(read_ms(traces.imported(at), near) - traced) < a_sample + 1e-5);  // of the same file
      }
    }
    double before = read_ms(traces.imported(1), 1);
    for (std::int64_t at = 65; at < batch + 2000; at += 64) {
      const double now = read_ms(traces.imported(at), at);
      CHECK(std::abs(now - before) < 64 * a_sample + 1e-5);
      before = now;
    }
  }
}

TEST_CASE("what waits in all traces waits in the batches between them, too") {
  Traces traces;
  traces.add(1024, {1.5, 0.25});
  traces.add(2048, {2.5, 0.25});
  CHECK(read_ms(traces.imported(1024), 1024) == doctest::Approx(1.75));
  CHECK(read_ms(traces.imported(1536), 1536) == doctest::Approx(2.25));
  CHECK(read_ms(traces.imported(2048), 2048) == doctest::Approx(2.75));
  Traces seldom;  // the host is no limit
  seldom.add(1024, {15, 0.25});
  seldom.add(2048, {25, 0.25});
  CHECK(read_ms(seldom.imported(1536), 1536) == doctest::Approx(20.25));
  CHECK(read_ms(seldom.imported(3072), 3072) == doctest::Approx(35.25));
}

TEST_CASE("between a batch whose host is the limit and one whose GPU is, the step is the longer of both") {
  Traces traces;
  traces.add(1000, {2, 8});
  traces.add(11'000, {22, 0});
  CHECK(read_ms(traces.imported(3000), 3000) == doctest::Approx(10));
  CHECK(read_ms(traces.imported(5000), 5000) == doctest::Approx(10));
  CHECK(read_ms(traces.imported(8000), 8000) == doctest::Approx(16));
  CHECK(read_ms(traces.imported(500), 500) == doctest::Approx(10));
  CHECK(read_ms(traces.imported(16'000), 16'000) == doctest::Approx(32));
}

}  // namespace shardsim::traced_dense_test
