#include "study/confidence/interval.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "study/confidence/faster.h"

namespace shardsim::interval_test {

namespace {

// Kernels are off by 0.1 and collectives by 0.3; whole iterations of the software by 0.2 in the mean, on two systems.
ErrorModel model() {
  return ErrorModel(residuals_of(
      "class,system,name,predicted_ms,observed_ms,role,software,version,cluster,gpu,transport,model,plan,nodes,gpus,"
      "batch_per_gpu,"
      "parts\n"
      "kernel/lookup,g,k,1,1.10517,predicted,,,,,,,,,,,\n"
      "collective/rdma/from 64 MiB/all_to_all,c,k,1,1.34986,predicted,,,,,,,,,,,\n"
      "iteration/soft,soft on a,i,10,11.0517,predicted,soft,,a,A100,infiniband,m,p,2,16,1,kernel/lookup=10\n"
      "iteration/soft,soft on b,i,10,13.4986,predicted,soft,,b,A100,infiniband,m,p,2,16,1,kernel/lookup=10\n",
      "test"));
}

IterationSetting on(const std::string& cluster) {
  return {"soft", "", cluster, "A100", "infiniband", "m", "p", 2, 16, 1};
}

// The chance for two plans whose path is one call of one kind. The call is a little smaller than the upper end of a
// class in one plan and a little larger in the other, or as large in both.
double chance_of_calls(const std::string& first_class, const std::string& second_class) {
  const ErrorModel errors(shipped_residuals());
  const Interval first = errors.interval(10, on("x"), {{first_class, 10}});
  const Interval second = errors.interval(11, on("x"), {{second_class, 11}});
  return difference_of(10, first, 11, second).first_is_faster();
}

}  // namespace

TEST_CASE("an interval holds its prediction, and is wider where more of it is uncertain") {
  const Interval kernels = model().interval(10, on("x"), {{"kernel/lookup", 10}});
  const Interval mixed =
      model().interval(10, on("x"), {{"kernel/lookup", 2}, {"collective/rdma/from 64 MiB/all_to_all", 8}});
  CHECK(kernels.low_ms < 10);
  CHECK(kernels.high_ms > 10);
  CHECK(kernels.low_ms * kernels.high_ms == doctest::Approx(100));
  CHECK(mixed.high_ms > kernels.high_ms);
  CHECK(model().interval(10, on("x"), {{"kernel/lookup", 10, true}}).high_ms > kernels.high_ms);
  CHECK(model().interval(10, on("x"), {{"kernel/lookup", 10}}, {0.3, {}}).high_ms > kernels.high_ms);
}

TEST_CASE("the errors of parts and the rest of whole iterations add up in squares") {
  const Interval interval = model().interval(10, on("x"), {{"kernel/lookup", 10}});
  CHECK(interval.parts.front().scale == doctest::Approx(0.1).epsilon(1e-4));
  CHECK(interval.scale() == doctest::Approx(std::hypot(0.1, interval.rest_scale)).epsilon(1e-4));
}

TEST_CASE("a part that was calibrated has the errors of its calibration, and the interval says so") {
  const std::string exchange = "collective/rdma/from 64 MiB/all_to_all";
  const Interval by_class = model().interval(10, on("x"), {{exchange, 10}});
  const Interval own = model().interval(10, on("x"), {{exchange, 10, false, 0.05}});
  CHECK(own.parts.front().scale == doctest::Approx(0.05));
  CHECK(own.high_ms < by_class.high_ms);
  CHECK(own.basis.ends_with(", and for all_to_all of what the calibration of 'x' left out"));
  CHECK(by_class.basis.find("calibration") == std::string::npos);
  const Interval half = model().interval(10, on("x"), {{exchange, 5, false, 0.05}, {exchange, 5}});
  CHECK(half.parts.front().scale == by_class.parts.front().scale);
}

TEST_CASE("a system is left out of its own interval") {
  const Interval interval = model().interval(10, on("b"), {{"kernel/lookup", 10}}, {}, "soft on b");
  CHECK(interval.rest_scale == doctest::Approx(0).epsilon(1e-4));  // what is left, a, is off by what its kernels are
}

TEST_CASE("the words say which published iterations a range rests on, and which of the case's own are left out") {
  const Interval all = model().interval(10, on("b"), {{"kernel/lookup", 10}});
  CHECK(all.basis == "2 published iterations of soft on 2 systems (a, b)");
  const Interval own = model().interval(10, on("b"), {{"kernel/lookup", 10}}, {}, "soft on b");
  CHECK(own.basis ==
        "1 published iteration of soft on 1 system (a); 1 more, on b as this case, is left out, so that no published "
        "time judges itself");
  IterationSetting other = on("x");
  other.software = "hard";
  CHECK(model().interval(10, other, {}).basis ==
        "2 published iterations of other software on 2 systems (soft on a, soft on b)");
}

TEST_CASE("what only the system itself has is not said to be unpublished") {
  const std::vector<Residual> rows = residuals_of(
      "class,system,name,predicted_ms,observed_ms,role,software,version,cluster,gpu,transport,model,plan,nodes,gpus,"
      "batch_per_gpu,parts\n"
      "iteration/soft,soft on a,i,10,11,predicted,soft,,a,A100,infiniband,m,p,2,16,1,kernel/lookup=10\n"
      "iteration/soft,soft on b,i,10,11,predicted,soft,,b,A100,roce,m,p,2,16,1,kernel/lookup=10\n",
      "test");
  IterationSetting roce = on("b");
  roce.transport = "roce";
  CHECK(outside_of(roce, rows, "soft on b") ==
        std::vector<std::string>{"no other published run of soft on Ethernet (RoCE)"});
  CHECK(outside_of(roce, rows).empty());
}

TEST_CASE("what nobody published is said in words") {
  CHECK(model().interval(1, on("x"), {}).outside.empty());
  IterationSetting many = on("x");
  many.nodes = 16;
  CHECK(outside_of(many, model().residuals()) ==
        std::vector<std::string>{"no published run of soft on InfiniBand at more than 2 nodes"});
  many.transport = "roce";
  CHECK(outside_of(many, model().residuals()) ==
        std::vector<std::string>{"no published run of soft on Ethernet (RoCE)"});
  many.software = "none";
  many.gpu = "B300";
  CHECK(outside_of(many, model().residuals()) ==
        std::vector<std::string>{"no published run without a simulated host", "no published run on B300"});
  const std::vector<Residual> two = residuals_of(
      "class,system,name,predicted_ms,observed_ms,role,software,version,cluster,gpu,transport,model,plan,nodes,gpus,"
      "batch_per_gpu,parts\n"
      "iteration/soft,soft on a,i,10,11,predicted,soft,,a,A100,none,m,p,1,8,1,kernel/lookup=10\n"
      "iteration/none,none on b,i,10,11,predicted,none,,b,V100,none,m,p,1,8,1,kernel/lookup=10\n",
      "test");
  IterationSetting hostless = on("x");
  hostless.software = "none";
  hostless.nodes = 1;
  CHECK(outside_of(hostless, two) == std::vector<std::string>{"no published run without a simulated host on A100"});
}

// Two clusters with the same NICs, whose shares of the line rate were measured on unlike systems, 0.967 and 0.848.
TEST_CASE("a chance contains the spread between two pieces of evidence") {
  const ErrorModel errors = model();
  const auto timed = [&](double ms, double share) {
    IterationPart exchange{"collective/rdma/from 64 MiB/all_to_all", 0.9 * ms};
    exchange.fitted_share = share;
    return errors.interval(ms, on("x"), {exchange, {"kernel/lookup", 0.1 * ms}});
  };
  const Difference like = difference_of(10, timed(10, .967), 11, timed(11, .967));
  const Difference unlike = difference_of(10, timed(10, .967), 11, timed(11, .848));
  CHECK(unlike.first_is_faster() < like.first_is_faster());
  CHECK(unlike.first_is_faster() > .5);
  const double spread = .9 * (10 + 11) / 2 / std::sqrt(110.) * std::log(.967 / .848);
  CHECK(unlike.scale * unlike.scale - like.scale * like.scale == doctest::Approx(spread * spread));
  CHECK_FALSE(is_equal(like));
  CHECK(is_equal(difference_of(10, timed(10, .967), 10.0009, timed(10.0009, .967))));
  CHECK_FALSE(is_equal(difference_of(10, timed(10, .967), 10.0011, timed(10.0011, .967))));
  // It is of what both spend there.
  const Interval none = errors.interval(11, on("x"), {{"kernel/lookup", 11}});
  CHECK(difference_of(10, timed(10, .967), 11, none).scale == difference_of(10, timed(10, .848), 11, none).scale);
}

TEST_CASE("what two plans share is left out of their order") {
  const ErrorModel errors = model();
  const Interval first = errors.interval(10, on("x"), {{"kernel/lookup", 10}});
  const Interval second = errors.interval(11, on("x"), {{"kernel/lookup", 11}});
  const Interval elsewhere = errors.interval(11, on("y"), {{"kernel/lookup", 11}});
  const double here = difference_of(10, first, 11, second).first_is_faster();
  const double there = difference_of(10, first, 11, elsewhere).first_is_faster();
  CHECK(here > there);
  CHECK(there > 0.5);
  CHECK(difference_of(11, second, 10, first).first_is_faster() == doctest::Approx(1 - here));
  CHECK(difference_of(10, first, 10, first).first_is_faster() == doctest::Approx(0.5));
  CHECK(difference_of(10, first, 10, first).expected_regret() == 0);  // one plan by two names
}

TEST_CASE("plans that wait for one host share its error, whatever their GPUs do beside it") {
  const ErrorModel errors = model();
  const auto beneath = [](const std::string& error_class, double ms) {
    IterationPart part{error_class, ms};
    part.beneath_ms = ms;
    return part;
  };
  const Interval even = errors.interval(4.240, on("x"), {{"host", 2.67}, beneath("kernel/update", 1.57)});
  const Interval uneven = errors.interval(4.244, on("x"), {{"host", 3.884}, beneath("kernel/update", 0.36)});
  CHECK(even.is_set_by_host());
  const Difference difference = difference_of(4.240, even, 4.244, uneven);
  CHECK(is_equal(difference));
  CHECK(difference.scale < 1.5 * std::sqrt(2) * kRepeatScale);
  CHECK(difference.expected_regret() < 0.01);
  // Of an iteration that GPUs set in part they count as before.
  const Interval own = errors.interval(4.244, on("x"), {{"host", 3.5}, {"kernel/update", 0.744}});
  CHECK_FALSE(own.is_set_by_host());
  CHECK_FALSE(is_equal(difference_of(4.240, even, 4.244, own)));
  CHECK_FALSE(is_equal(difference_of(4.240, even, 4.4, errors.interval(4.4, on("x"), {{"host", 4.4}}))));
}

TEST_CASE("where hot rows lie widens intervals, and orders by what two plans do not share of it") {
  const ErrorModel errors = model();
  const std::vector<double> moved = {-0.2, 0.2, -0.1, 0.1}, other = {0.2, -0.2, 0.1, -0.1};
  const auto placed = [&](double ms, const std::vector<double>& placements) {
    return errors.interval(ms, on("x"), {{"kernel/lookup", ms}}, {0, placements});
  };
  const Interval known = placed(10, {}), drawn = placed(10, moved);
  CHECK(drawn.placement_scale() == doctest::Approx(std::sqrt(0.025)));
  CHECK(known.placement_scale() == 0);
  CHECK(drawn.scale() == doctest::Approx(std::hypot(known.scale(), drawn.placement_scale())));
  CHECK(drawn.low_ms < known.low_ms);
  CHECK(drawn.high_ms > known.high_ms);
  const auto chance = [&](const Interval& first, const Interval& second) {
    return difference_of(10, first, 11, second).first_is_faster();
  };
  const std::vector<double> high = {0.1, 0.5, 0.2, 0.4};  // the same range about another middle: told in a fast one
  CHECK(placed(10, high).placement_scale() == doctest::Approx(drawn.placement_scale()));
  CHECK(placed(10, high).low_ms == doctest::Approx(drawn.low_ms * std::exp(0.3)));
  CHECK(difference_of(10, drawn, 10, placed(10, high)).log_ratio == doctest::Approx(0.3));
  CHECK(difference_of(10, drawn, 11, placed(11, moved)).scale ==
        doctest::Approx(difference_of(10, drawn, 11, placed(11, high)).scale));
  const double sure = chance(known, placed(11, {}));
  CHECK(chance(drawn, placed(11, moved)) == doctest::Approx(sure));
  CHECK(chance(drawn, placed(11, {})) < sure);
  CHECK(chance(drawn, placed(11, other)) < chance(drawn, placed(11, {})));
}

TEST_CASE("calls of one kind are no independent things at two sides of the end of a class of sizes") {
  const auto exchange = [](const std::string& size) { return "collective/rdma/" + size + "/all_to_all"; };
  const std::string below = exchange("1 MiB to 64 MiB"), above = exchange("from 64 MiB");
  const double same = chance_of_calls(below, below), near = chance_of_calls(below, above),
               far = chance_of_calls(exchange("below 64 KiB"), above),
               unlike = chance_of_calls("collective/rdma/1 MiB to 64 MiB/all_reduce", above);
  CHECK(same > near);
  CHECK(near > far);
  CHECK(far > unlike);
}

TEST_CASE("the correlation between neighbouring sizes is that of the published errors") {
  using Class = std::tuple<std::string, std::string, int>;  // kind, system, size
  std::map<Class, std::pair<double, int>> sums;
  for (const Residual& residual : shipped_residuals()) {
    if (residual.fitted || !residual.error_class.starts_with("collective/")) continue;
    const SizedClass sized = sized_class(residual.error_class);
    auto& [sum, rows] = sums[{sized.kind, residual.system, sized.size}];
    sum += residual.error();
    ++rows;
  }
  double products = 0, smaller = 0, larger = 0;
  int pairs = 0;
  for (const auto& [one, of_one] : sums) {
    const auto next = sums.find({std::get<0>(one), std::get<1>(one), std::get<2>(one) + 1});
    if (next == sums.end()) continue;
    const double a = of_one.first / of_one.second, b = next->second.first / next->second.second;
    products += a * b;
    smaller += a * a;
    larger += b * b;
    ++pairs;
  }
  CHECK(pairs == 37);
  CHECK(products / std::sqrt(smaller * larger) == doctest::Approx(kNeighbourCorrelation).epsilon(0.01));
}

TEST_CASE("a difference smaller than what a run repeats with is no order") {
  const ErrorModel errors = model();
  const Interval first = errors.interval(16.03, on("x"), {{"kernel/lookup", 16.03}});
  const Interval second = errors.interval(16.05, on("x"), {{"kernel/lookup", 16.05}});
  const double chance = difference_of(16.03, first, 16.05, second).first_is_faster();
  CHECK(chance > 0.5);
  CHECK(chance < 0.6);
}

// The mean range of n normal numbers over their standard deviation (Tippett 1925, table of d2 of control charts).
TEST_CASE("what a run repeats with is that of the shipped table") {
  const std::map<int, double> range_of = {{5, 2.326}, {10, 3.078}};
  const std::string file = SHARDSIM_SOURCE_DIR "/scenarios/accuracy/repeats.csv";
  const CsvTable table = parse_csv(read_file(file), file);
  const auto number = [&](const CsvTable::Row& row, std::string_view column) {
    return std::stod(row.cells[table.column(column).value()]);
  };
  double sum = 0;
  for (const CsvTable::Row& row : table.rows) {
    const double range = (number(row, "highest_ms") - number(row, "lowest_ms")) / number(row, "iteration_ms");
    sum += range / range_of.at(static_cast<int>(number(row, "runs")));
  }
  const double deviation = sum / static_cast<double>(table.rows.size()) * std::sqrt(2 / std::numbers::pi);
  CHECK(deviation == doctest::Approx(kRepeatScale).epsilon(0.01));
}

// Against a sum over the law itself.
TEST_CASE("expected regret is the mean of what the other one gains") {
  const Difference difference{0.1, 0.2};
  double sum = 0;
  constexpr double kStep = 1e-4, kFar = 200;
  for (double x = difference.log_ratio / difference.scale; x < kFar; x += kStep)
    sum += (error_chance(x + kStep) - error_chance(x)) * (difference.scale * (x + kStep / 2) - difference.log_ratio);
  CHECK(difference.expected_regret() == doctest::Approx(sum).epsilon(1e-3));
  CHECK(Difference{-0.1, 0}.expected_regret() == doctest::Approx(0.1));
}

}  // namespace shardsim::interval_test
