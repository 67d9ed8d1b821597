#include "study/sweep/axis.h"

#include <doctest/doctest.h>

#include <set>

#include "base/tree/yaml.h"

namespace shardsim::axis_test {

namespace {

Axis axis(const std::string& yaml, std::uint64_t most = kMostSweepPoints) {
  return read_axis("path", parse_yaml_value(yaml, {"test", 1, 1}), most);
}

std::vector<std::string> texts(const Axis& axis) {
  std::vector<std::string> texts;
  for (const AxisValue& value : axis.values) texts.push_back(value.text);
  return texts;
}

using Texts = std::vector<std::string>;

Axis drawn(const std::string& yaml, std::size_t points, std::uint64_t seed, std::uint64_t stream = 0) {
  return draw_axis("path", parse_yaml_value(yaml, {"test", 1, 1}), points, seed, stream);
}

}  // namespace

TEST_CASE("an axis has the values of its list, maps by their label, name or text") {
  CHECK(texts(axis("[2, 100 Gbit/s, word]")) == Texts{"2", "100 Gbit/s", "word"});
  const Axis planners = axis("[{name: greedy}, {name: greedy, by: size}, {label: mine, name: greedy}]");
  CHECK(texts(planners) == Texts{"greedy", "greedy (by: size)", "mine"});
  CHECK(planners.values[2].tree.find("label") == nullptr);
}

TEST_CASE("a range by steps keeps its unit and its last value") {
  CHECK(texts(axis("{from: 100 Gbit/s, to: 400 Gbit/s, step: 100 Gbit/s}")) ==
        Texts{"100 Gbit/s", "200 Gbit/s", "300 Gbit/s", "400 Gbit/s"});
  CHECK(texts(axis("{from: 0.1, to: 0.5, step: 0.1}")) == Texts{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(texts(axis("{from: 1, to: 6, step: 2}")) == Texts{"1", "3", "5"});
}

TEST_CASE("the ends of a range may have prefixes of their own") {
  CHECK(texts(axis("{from: 500 Mbit/s, to: 1.5 Gbit/s, step: 0.5 Gbit/s}")) ==
        Texts{"500 Mbit/s", "1000 Mbit/s", "1500 Mbit/s"});
}

TEST_CASE("a range by a factor, or of so many points, is evenly spaced in its logarithms") {
  CHECK(texts(axis("{from: 512, to: 4096, factor: 2}")) == Texts{"512", "1024", "2048", "4096"});
  CHECK(texts(axis("{from: 1 us, to: 1000 us, points: 4, scale: log}")) == Texts{"1 us", "10 us", "100 us", "1000 us"});
  CHECK(texts(axis("{from: 0, to: 1, points: 5}")) == Texts{"0", "1"});  // whole ends: whole numbers, each once
  CHECK(texts(axis("{from: 0.0, to: 1.5, points: 4}")) == Texts{"0", "0.5", "1", "1.5"});
}

TEST_CASE("sizes of a range are whole bytes") {
  for (const AxisValue& value : axis("{from: 1 KiB, to: 10 KiB, points: 7}").values) {
    REQUIRE(value.amount.has_value());
    CHECK(value.amount->value() == static_cast<double>(static_cast<std::int64_t>(value.amount->value())));
  }
}

TEST_CASE("an axis has a value once, and axes that change together have their values together once") {
  const Axis nodes = axis("[1, 2, 1]"), prices = axis("[3, 3, 4]"), same = axis("[3, 4, 3]");
  CHECK_THROWS_WITH_AS(refuse_twice({&nodes, 1}), doctest::Contains("axis \"path\" has \"1\" twice"), Error);
  CHECK_NOTHROW(refuse_twice(std::vector{nodes, prices}));
  CHECK_THROWS_WITH_AS(refuse_twice(std::vector{nodes, same}), doctest::Contains("\"1\", \"path\" \"3\" twice"), Error);
}

TEST_CASE("what is no axis is refused") {
  for (const char* const bad :
       {"[]", "5", "{}", "{from: 1, to: 2}", "{from: 1, to: 9, step: 1, factor: 2}", "{from: 9, to: 1, step: 1}",
        "{from: 0, to: 8, factor: 2}", "{from: 1, to: 8, factor: 1}", "{from: 1, to: 2 GiB, step: 1}",
        "{from: 1, to: 9, step: -1}", "{from: 1, to: 9, step: 1, scale: log}", "{from: a, to: b, step: 1}", "[1, ~]"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(axis(bad), Error);
  }
  CHECK_THROWS_WITH_AS(axis("{from: 0, to: 8, points: 3, scale: log}"), doctest::Contains("cannot start at 0"), Error);
  CHECK_THROWS_WITH_AS(axis("{from: -1, to: 8, points: 3, scale: log}"), doctest::Contains("cannot start at -1"),
                       Error);
  CHECK_THROWS_WITH_AS(axis("{from: 1, to: 1000000, step: 1}", 1000),
                       doctest::Contains("alone has 1000000 values, and a sweep 1,000 points at most"), Error);
}

TEST_CASE("draws are the same for a seed, others for another one, and lie between their ends") {
  const char* const range = "{from: 10 Gbit/s, to: 1000 Gbit/s, scale: log}";
  const Axis first = drawn(range, 400, 1);
  CHECK(texts(first) == texts(drawn(range, 400, 1)));
  CHECK(texts(first) != texts(drawn(range, 400, 2)));
  CHECK(texts(first) != texts(drawn(range, 400, 1, 1)));
  int below = 0;
  for (const AxisValue& value : first.values) {
    REQUIRE(value.amount.has_value());
    CHECK(value.amount->number >= 10);
    CHECK(value.amount->number <= 1000);
    below += value.amount->number < 100 ? 1 : 0;
  }
  CHECK(below > 160);  // half of them, four standard deviations off at most
  CHECK(below < 240);
  for (const AxisValue& value : drawn("{from: 3, to: 7}", 100, 1).values) CHECK(value.amount->is_whole());
  const std::vector<std::string> words = texts(drawn("[a, b]", 100, 1));
  CHECK(std::set<std::string>(words.begin(), words.end()) == std::set<std::string>{"a", "b"});
}

TEST_CASE("an amount knows its unit, and what is none") {
  CHECK(amount_of("100 Gbit/s")->value() == 12.5e9);
  CHECK(amount_of("4 KiB")->value() == 4096);
  CHECK(amount_of("60 %")->value() == doctest::Approx(0.6));
  CHECK(amount_of("3 us")->value() == doctest::Approx(3e-6));
  CHECK(amount_of("12")->is_whole());
  CHECK_FALSE(amount_of("row_wise").has_value());
  CHECK_FALSE(amount_of("2tier").has_value());
  CHECK_FALSE(amount_of("").has_value());
  CHECK_FALSE(amount_of("nan").has_value());
}

}  // namespace shardsim::axis_test
