#include "validate/microbench/exchange_bench.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <numeric>

#include "tests/base/error_text.h"
#include "tests/temporary_folder.h"
#include "tests/validate/execute/ranks.h"

namespace shardsim::exchange_bench_test {
namespace {

ExchangeSet two_exchanges() {
  ExchangeSet set;
  set.batch = 64;
  set.law.ranks = 2;
  set.exchanges = {{{8, 4}, {0, 30}}, {{0, 16}, {0, 0}}};
  set.file = "two.json";
  return set;
}

Launch of_two() {
  return test::launch_of(0, 2, 29400);
}

std::vector<double> milliseconds(const std::vector<double>& seconds) {
  std::vector<double> result;
  for (const double one : seconds) result.push_back(1e3 * one);
  return result;
}

}  // namespace

TEST_CASE("exchanges: forward each rank sends its columns after its own start, backward all gets them back at once") {
  const ExchangeSet set = two_exchanges();
  const std::vector<std::size_t> both{0, 1};
  const std::vector<Program> programs = exchange_programs(of_two(), set, both);
  REQUIRE(programs.size() == 4);
  CHECK(programs[0].ops[0].fixed_ns == 0);
  CHECK(programs[0].ops[1].fixed_ns == 30'000'000);
  CHECK(programs[1].ops[1].fixed_ns == 0);
  const auto sent = [&](std::size_t program, int rank) {
    return resolve_matrix(programs[program], programs[program].ops.back().matrix).bytes_between(rank, 1 - rank, 2);
  };
  CHECK(sent(0, 0) == 32 * 8 * 4);  // half of the samples, 8 columns of fp32
  CHECK(sent(0, 1) == 32 * 4 * 4);
  CHECK(sent(1, 0) == 32 * 4 * 4);
  CHECK(sent(2, 0) == 0);
  CHECK(sent(3, 0) == 32 * 16 * 4);
}

TEST_CASE("exchanges: a label is a rank's median over the visits, without the wait before its start") {
  Timeline timeline;
  timeline.world_size = 2;
  const auto add = [&](int iteration, int rank, double start, double us) {
    timeline.spans.push_back({0, start, rank, 0, rank, iteration, 0});
    timeline.spans.push_back({start, start + us, rank, 0, 2, iteration, 0});
  };
  for (int visit = 1; visit <= 3; ++visit) {
    add(2 * visit, 0, 0, 1000 * visit);
    add(2 * visit, 1, 700, 10 * visit);
    for (const int rank : {0, 1}) add(2 * visit + 1, rank, 0, 5 + rank);
  }
  const std::vector<ExchangeSeconds> labels = exchange_labels(timeline, 1);
  REQUIRE(labels.size() == 1);
  CHECK(labels[0].forward == std::vector<double>{1e-6 * 2000, 1e-6 * 20});
  CHECK(labels[0].backward == std::vector<double>{1e-6 * 5, 1e-6 * 6});
}

TEST_CASE("exchanges: two ranks label them, an early one waits, and what the journal has is not measured again") {
  const TemporaryFolder folder("exchange_bench");
  const auto measured = [&](std::size_t& calls) {
    std::vector<ExchangeSet> sets(2, two_exchanges());
    const std::vector<std::string> errors = test::in_world(2, [&](Rendezvous& rendezvous) {
      const bool root = rendezvous.rank() == 0;
      ExchangeSet& set = sets[root ? 0 : 1];
      ExchangeRows rows(set, folder / "labels.json", "two exchanges");
      measure_exchanges(rendezvous, {}, set, 2, rows, [&](std::size_t) { calls += root ? 1 : 0; });
      CHECK(rows.next(9).empty());
    });
    CHECK(errors == std::vector<std::string>{"", ""});
    return sets[0];
  };
  std::size_t calls = 0;
  const ExchangeSet first = measured(calls), second = measured(calls);
  CHECK(calls == 1);
  REQUIRE((first.labels[0] && first.labels[1]));
  const std::vector<double> forward = milliseconds(first.labels[0]->forward);
  CHECK(forward[0] > 25);
  CHECK(forward[0] > forward[1] + 10);
  CHECK(first.labels[1]->forward[0] > 0);
  CHECK(second.labels[0]->forward == first.labels[0]->forward);
  CHECK(second.labels[1]->backward == first.labels[1]->backward);
  CHECK(second.device == first.device);
}

TEST_CASE("exchanges: other ranks, a batch that they cannot share, and labels that were given before are refused") {
  const auto refused = [](const ExchangeSet& set, int ranks) { return error_of([&] { check_exchanges(set, ranks); }); };
  ExchangeSet set = two_exchanges();
  CHECK(refused(set, 2).empty());
  CHECK(has(refused(set, 4), "two.json: its exchanges are between 2 ranks, and 4 were started"));
  CHECK(has(refused(set, 1), "there is only one"));
  set.batch = 65;
  CHECK(has(refused(set, 2), "2 ranks cannot share 65 samples evenly"));
  set = two_exchanges();
  set.exchanges[1].columns[0] = 0.5;
  CHECK(has(refused(set, 2), "0.5 columns"));
  set = two_exchanges();
  set.provider = "closed_form";
  CHECK(has(refused(set, 2), "labels already, by closed_form"));
}

}  // namespace shardsim::exchange_bench_test
