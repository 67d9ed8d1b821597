#include "base/schema/number_pattern.h"

#include <doctest/doctest.h>

#include <regex>

using namespace shardsim;

namespace {

// To build the automaton of a pattern takes a hundred times as long as to search a text with it: so it is built once.
void check_all(const std::string& pattern, const std::vector<std::string>& good, const std::vector<std::string>& bad) {
  const std::regex automaton(pattern);
  for (const std::string& text : good) CHECK_MESSAGE(std::regex_search(text, automaton), text);
  for (const std::string& text : bad) CHECK_MESSAGE(!std::regex_search(text, automaton), text);
}

}  // namespace

TEST_CASE("a plain number within bounds: its sign, zero and its order of magnitude") {
  check_all(number_pattern({}, true), {"0", "-1", "+1.5", "1e300", "0.5e-3"},
            {"", "many", "01", "1.", ".5", "inf", "1 s"});
  check_all(number_pattern(Bounds::above(0).to(10), true), {"1e-6", "10", "10.0", "0.001e3", "100e-1", "1e1"},
            {"0", "0.0", "-1", "100", "1e2", "1.5e30", "-0.1"});
  check_all(count_pattern(Bounds::from(1).to(100'000)), {"1", "1e5", "100000", "0.5e1", "1.0", "20.00"},
            {"0", "0.0", "1.05", "20.10", "-1", "1000000", "1e6", "1000000000000000000000", "+1", "0.37", "1.5",
             "100001", "0.5e7"});
  check_all(count_pattern(Bounds::from(12).to(345)), {"12", "19", "20", "99", "100", "299", "340", "345", "12e0"},
            {"0", "1", "9", "10", "11", "346", "350", "400", "999", "11e0"});
  check_all(number_pattern(Bounds::from(0), true), {"0", "-0", "1e300"}, {"-1", "-0.5"});
}

TEST_CASE("bounds that are whole numbers are told exactly") {
  check_all(number_pattern(Bounds::above(0).below(1), true), {"0.5", "1e-6", "0.999", "5e-1", "0.5e0"},
            {"0", "1", "1.0", "1e0", "1.5", "0.5e1", "+1"});
  check_all(number_pattern(Bounds::above(2).to(20), true), {"2.1", "20", "20.0", "3"},
            {"2", "2.0", "1.9", "0.5", "20.5", "21", "100"});
}

TEST_CASE("a quantity has a unit, with one blank at most, and is one that a machine may have") {
  check_all(quantity_pattern(Bounds::from(1e3).to(1e18), UnitsOf::rate),
            {"25 GB/s", "25GB/s", "80 Gbit", "1e-3 TB/s", "1e18 B/s"},
            {"25", "25 GB", "25   GB/s", "0 GB/s", "-1 GB/s", "1e30 GB/s", "1e-30 GB/s", "25 parsec", "1e19 B/s",
             "1000001 TB/s", "999 B/s", "0.9 KB/s"});
  check_all(quantity_pattern(Bounds::from(0).to(1e6), UnitsOf::time), {"0 s", "3 us", "1e15 ns", "1000000 s"},
            {"-3 us", "1e17 ns", "3", "1e7 s", "1000001 s"});
  check_all(quantity_pattern({}, UnitsOf::bytes), {"-200 MB", "0 B", "1 TiB"}, {"5", "1 parsec", "1e-30 GiB"});
  check_all(quantity_pattern(Bounds::from(1), UnitsOf::bytes), {"8388607 TiB", "1 B"},
            {"0 B", "0.5 B", "8388608 TiB", "-1 B"});
}

TEST_CASE("a size is a whole number of bytes") {
  check_all(quantity_pattern(Bounds::from(0), UnitsOf::bytes),
            {"1.0 B", "1.5 KB", "1.234 KB", "1.2340 KB", "1.5 KiB", "1.25 KiB", "1.750 MiB", "1.125 GiB", "1.5e1 B"},
            {"1.5 B", "1.2345 KB", "1.1 KiB", "1.15 KiB", "1.05 GiB", "1e-30 TiB", "1e-4 KB", "0.1 B"});
}

TEST_CASE("a share is from 0 to 1, or up to 100 %") {
  check_all(share_pattern(Bounds::from(0).to(1)),
            {"0", "1", "1.0", "0.6", "60 %", "60%", "100 %", "99.9 %", "1e-3", "0.5e1 %"},
            {"7", "1.5", "-0.5", "150 %", "101 %", "1000 %", "many", "0.5 s", "1e3", "2e0", "0.5e3", "1e3 %"});
  check_all(share_pattern(Bounds::from(0).to(1), "/day"), {"2 %/day", "2%", "0.02", "0.02 /day", "2  % /day", "+2 %"},
            {"2", "150 %", "150 %/day", "1e30 %/day", "-1 %/day", "2 %/year"});
  check_all(share_pattern(Bounds::above(0).to(1)), {"1e-6", "1 %"}, {"0", "0 %", "0.0"});
  check_all(share_pattern(Bounds::from(0).below(1)), {"0", "0.99", "99.9 %"}, {"1", "1.0", "1e0", "100 %", "100.0 %"});
  check_all(share_pattern(Bounds::from(1e-6).to(1)), {"1e-6", "0.000001", "1e-4 %", "1"},
            {"0", "1e-7", "0.0000001", "0.5e-6", "1e-5 %"});
}

TEST_CASE("a percentage has its sign and its unit") {
  check_all(percent_pattern({}), {"5 %", "-10%", "150 %"}, {"5", "5 s", "%"});
}
