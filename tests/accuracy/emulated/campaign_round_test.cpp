#include "accuracy/emulated/campaign_round.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace shardsim::campaign_round_test {

namespace {

// Iterations of these lengths, on one rank and every stream of the item.
Timeline lasting(const std::vector<double>& ms, int streams = 1) {
  Timeline timeline;
  for (std::size_t i = 0; i < ms.size(); ++i) {
    for (int stream = 0; stream < streams; ++stream) {
      Span span;
      span.start_us = 1e6 * static_cast<double>(i);
      span.end_us = span.start_us + 1e3 * ms[i];
      span.iteration = static_cast<int>(i);
      span.stream = stream;
      timeline.spans.push_back(span);
    }
  }
  return timeline;
}

CampaignItem item(JudgedAs judged, int streams = 1) {
  CampaignItem made{"item", 1024, judged, {}};
  made.program.streams = {"first"};
  if (streams > 1) made.program.streams.push_back("second");
  return made;
}

// Ranks that answer with given times, call after call.
struct Ranks {
  std::vector<std::vector<std::vector<double>>> answers;  // [call][item][repeat]
  std::vector<int> asked_repeats;
  std::vector<std::size_t> asked_items;

  ObserveItems observe() {
    return [this](const std::vector<CampaignItem>& items, int repeats) {
      asked_items.push_back(items.size());
      asked_repeats.push_back(repeats);
      std::vector<Timeline> timelines;
      for (const auto& ms : answers.at(asked_items.size() - 1)) timelines.push_back(lasting(ms));
      return timelines;
    };
  }
};

// Times of the guard's four sizes when the tiers carry these shares of their payload rates; `start` is lost once.
std::vector<std::vector<double>> guard_times(double fast, double nic, double start) {
  const double f = 29780.342 * fast, n = 2391.017 * nic;  // bytes per ms
  return {{start + 65536 / f}, {start + 1048576 / f}, {start + 65536 / n}, {start + 262144 / n}};
}

}  // namespace

TEST_CASE("an item in its band is run three times, by its least time") {
  Ranks ranks{{{{130, 101, 150}}}, {}, {}};
  const auto rows = judged_rows({item(JudgedAs::nic_bound)}, {lasting({100})}, ranks.observe());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].least_ms() == doctest::Approx(101));
  CHECK(rows[0].error() == doctest::Approx(100.0 / 101 - 1));
  CHECK(rows[0].holds());
  CHECK(ranks.asked_repeats == std::vector<int>{3});
}

TEST_CASE("an item outside its band gets five more runs, alone, and may come in") {
  Ranks ranks{{{{101, 102, 103}, {120, 130, 140}}, {{119, 118, 104, 117, 116}}}, {}, {}};
  const auto rows = judged_rows({item(JudgedAs::nic_bound), item(JudgedAs::nic_bound)},
                                {lasting({100}), lasting({100})}, ranks.observe());
  REQUIRE(rows.size() == 2);
  CHECK(ranks.asked_repeats == std::vector<int>{3, 5});
  CHECK(ranks.asked_items == std::vector<std::size_t>{2, 1});
  CHECK(rows[0].observed_ms.size() == 3);
  CHECK(rows[1].observed_ms.size() == 8);
  CHECK(rows[1].least_ms() == doctest::Approx(104));
  CHECK(rows[1].holds());
}

TEST_CASE("an item that stays outside its band fails the report; a reported one never does") {
  Ranks ranks{{{{120, 130, 140}, {500, 500, 500}}, {{119, 118, 110, 117, 116}}}, {}, {}};
  CampaignReport report;
  report.straggler = 2;
  report.plain = judged_rows({item(JudgedAs::nic_bound), item(JudgedAs::reported)}, {lasting({100}), lasting({100})},
                             ranks.observe());
  CHECK_FALSE(report.holds());
  CHECK(report.plain[1].holds());
  CHECK(document_text(report_document(report), 100, false).find("OUTSIDE") != std::string::npos);
  const auto json = nlohmann::json::parse(report_json(report));
  CHECK(json["within_bands"] == false);
  CHECK(json["items"][0]["within_band"] == false);
  CHECK(json["items"][1]["within_band"] == nullptr);
  CHECK(json["items"][0]["observed_ms"].size() == 8);
}

TEST_CASE("a model that is slower than the ranks is outside, too") {
  Ranks ranks{{{{90, 90, 90}}, {{90, 90, 90, 90, 90}}}, {}, {}};
  CHECK_FALSE(judged_rows({item(JudgedAs::nic_bound)}, {lasting({100})}, ranks.observe())[0].holds());
}

TEST_CASE("the two streams of an overlap are reported beside it") {
  const auto rows = rows_of(item(JudgedAs::nic_bound, 2), lasting({100}, 2), lasting({101, 102}, 2));
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].item == "  its first stream");
  CHECK(rows[1].judged == JudgedAs::reported);
  CHECK(rows[2].least_ms() == doctest::Approx(101));
}

TEST_CASE("the guard takes the slope between two sizes: what is lost once does not count") {
  Ranks ranks{{guard_times(1, 1, 5)}, {}, {}};
  const auto rates = guarded_rates({}, ranks.observe());
  REQUIRE(rates.size() == 2);
  CHECK(rates[0].observed.bytes_per_second == doctest::Approx(29780342));
  CHECK(rates[1].observed.bytes_per_second == doctest::Approx(2391017));
  CHECK((rates[0].holds() && rates[1].holds()));
}

TEST_CASE("the guard asks once more, then says no") {
  Ranks recovers{{guard_times(0.97, 1, 0), guard_times(0.985, 0.995, 0)}, {}, {}};
  for (const TierRate& rate : guarded_rates({}, recovers.observe())) CHECK(rate.holds());
  CHECK(recovers.asked_items.size() == 2);
  Ranks stays{{guard_times(1, 0.985, 0), guard_times(1, 1.015, 0)}, {}, {}};
  const auto rates = guarded_rates({}, stays.observe());
  CHECK(rates[0].holds());
  CHECK_FALSE(rates[1].holds());
}

}  // namespace shardsim::campaign_round_test
