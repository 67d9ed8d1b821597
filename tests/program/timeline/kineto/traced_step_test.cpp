#include "program/timeline/kineto/traced_step.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/base/error_text.h"
#include "tests/program/made_trace.h"

namespace shardsim::traced_step_test {
namespace {

using testing::MadeTrace;
using Phase = TracedStep::Phase;

double kernels_ms(const TracedModel& traced, Phase phase) {
  const auto found = traced.step.parts.find(phase);
  return found == traced.step.parts.end() ? 0 : found->second.compute.ms();
}

bool is_noted(const TracedModel& traced, const std::string& text) {
  return std::ranges::any_of(traced.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_CASE("a whole trace is divided into its parts, and nothing is told of it") {
  const TracedModel traced = MadeTrace{}.read();
  CHECK(traced.notes.empty());
  CHECK(kernels_ms(traced, Phase::lookup) == doctest::Approx(0.1));
  CHECK(kernels_ms(traced, Phase::forward) == doctest::Approx(0.5));
  CHECK(kernels_ms(traced, Phase::backward) == doctest::Approx(0.8));
  CHECK(kernels_ms(traced, Phase::update) == doctest::Approx(0.1));
  CHECK(traced.shapes.batch == 1024);
  CHECK(traced.device_memory == 85'000'000'000);
}

// A sort has no name of embeddings, and the operators that permute vectors have one: what launched them decides.
TEST_CASE("sorts of an update are part of it, and permuted vectors are neither a lookup nor an update") {
  const TracedModel plain = MadeTrace{}.read(), traced = MadeTrace{.sorts = true}.read();
  CHECK(kernels_ms(traced, Phase::lookup) == doctest::Approx(kernels_ms(plain, Phase::lookup)));
  CHECK(kernels_ms(traced, Phase::update) == doctest::Approx(kernels_ms(plain, Phase::update) + 0.1));
  CHECK(traced.lookup_kernels == plain.lookup_kernels);
  CHECK(traced.update_kernels == plain.update_kernels + 1);
}

TEST_CASE("where the operators are missing, forward and backward are not told apart, which is said") {
  const TracedModel traced = MadeTrace{.operators = false}.read();
  CHECK_FALSE(traced.passes_known);
  CHECK(kernels_ms(traced, Phase::backward) == 0);
  CHECK(kernels_ms(traced, Phase::forward) == doctest::Approx(1.3));
  CHECK(is_noted(traced, "Of 15 kernels of the step, 15 (100 %) were launched by no operator"));
  CHECK(is_noted(traced, "both count as forward"));
}

TEST_CASE("a backward pass without operators of autograd is not told from the forward pass, which is said") {
  const TracedModel traced = MadeTrace{.node = "compiled "}.read();
  CHECK_FALSE(traced.passes_known);
  CHECK(kernels_ms(traced, Phase::backward) == 0);
  CHECK(kernels_ms(traced, Phase::update) == doctest::Approx(0.1));
  CHECK(is_noted(traced, "by an operator of the backward pass of autograd"));
  CHECK(MadeTrace{}.read().passes_known);
}

TEST_CASE("kernels that were lost are told by their launches") {
  const TracedModel traced = MadeTrace{.lost_kernels = 15}.read();
  CHECK_FALSE(traced.waiting_known);
  CHECK(is_noted(traced, "Of 15 kernels that the host launches in the step, 1 (6.67 %) is not in the trace"));
  CHECK(is_noted(traced, "what the host costs is not known"));
}

TEST_CASE("steps that have all of their kernels come before those that lost some") {
  const TracedModel traced = MadeTrace{.steps = 6, .lost_kernels = 2, .whole_steps = 2}.read();
  CHECK(traced.waiting_known);
  CHECK(traced.steps == 2);
  CHECK(traced.left_out == 4);
  CHECK(kernels_ms(traced, Phase::backward) == doctest::Approx(0.8));
  CHECK(is_noted(traced, "launch kernels which are not in the trace (4 of 6, up to 53.3 % of their kernels)"));
}

TEST_CASE("where every step lost many kernels, the trace is refused") {
  CHECK(has(error_of([] { MadeTrace{.lost_kernels = 2}.read(); }),
            "are not in the trace, and no other step has more of them"));
}

TEST_CASE("kernels that were left out with their launches are told by their operators") {
  CHECK_FALSE(is_noted(MadeTrace{}.read(), "operators of the host that never run without a kernel"));
  const TracedModel traced = MadeTrace{.left_out = 4}.read();
  CHECK_FALSE(traced.waiting_known);
  CHECK(is_noted(traced, "Of 4 products and other operators of the host that never run without a kernel, 1 (25 %)"));
}

TEST_CASE("an event that is in the file twice counts once") {
  const TracedModel once = MadeTrace{}.read(), twice = MadeTrace{.twice = true}.read();
  CHECK(is_noted(twice, "64 events of the GPU are in the trace more than once"));
  CHECK(twice.lookup_kernels == once.lookup_kernels);
  CHECK(twice.shapes.tables.size() == once.shapes.tables.size());
  REQUIRE(twice.kernels.size() == once.kernels.size());
  for (std::size_t i = 0; i < once.kernels.size(); ++i) CHECK(twice.kernels[i].count == once.kernels[i].count);
}

TEST_CASE("durations of copies are none of kernels") {
  const auto read = [](const MadeTrace& trace) { return error_of([&] { trace.read(); }); };
  CHECK(has(read({.durations = false}), "none of its 60 GPU kernels has a start and a duration"));
}

TEST_CASE("a step in which the clock jumps is named, and no warm-up") {
  const TracedModel traced = MadeTrace{.jump_in = 2}.read();
  CHECK(traced.left_out == 1);
  CHECK(is_noted(traced, "Step 5 takes 500"));
  CHECK(is_noted(traced, "a clock jumped in it, or the host paused"));
}

TEST_CASE("losses that compare each sample with its label say the batch") {
  for (const char* const loss : {"aten::mse_loss", "aten::l1_loss", "aten::huber_loss", "aten::smooth_l1_loss",
                                 "aten::soft_margin_loss", "aten::binary_cross_entropy"}) {
    CAPTURE(loss);
    CHECK(MadeTrace{.loss = loss}.read().shapes.batch == 1024);
  }
  CHECK(MadeTrace{.loss = "aten::mse_loss_backward"}.read().shapes.batch == 0);
}

}  // namespace
}  // namespace shardsim::traced_step_test
