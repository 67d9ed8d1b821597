#include "tests/case_file/compare.h"

#include <algorithm>
#include <cmath>

namespace shardsim::golden {
namespace {

bool same_number(const Json& expected, const Json& actual, double relative, double absolute) {
  if (expected.is_number_integer() && actual.is_number_integer()) return expected == actual;
  const auto a = expected.get<double>();
  const auto b = actual.get<double>();
  return a == b || std::abs(a - b) <= absolute + relative * std::max(std::abs(a), std::abs(b));
}

class Comparison {
 public:
  Comparison(double relative, double absolute) : relative_(relative), absolute_(absolute) {}

  void at(const std::string& path, const Json& expected, const Json& actual) {
    if (expected.is_object() && actual.is_object()) {
      maps(path, expected, actual);
    } else if (expected.is_array() && actual.is_array()) {
      lists(path, expected, actual);
    } else if (expected.is_number() && actual.is_number() ? !same_number(expected, actual, relative_, absolute_)
                                                          : expected != actual) {
      found_.push_back(path + ": expected " + expected.dump() + ", got " + actual.dump());
    }
  }

  std::vector<std::string> found() && { return std::move(found_); }

 private:
  void maps(const std::string& path, const Json& expected, const Json& actual) {
    for (const auto& [key, value] : expected.items()) {
      if (actual.contains(key)) {
        at(path + "." + key, value, actual.at(key));
      } else {
        found_.push_back(path + "." + key + ": expected " + value.dump() + ", got nothing");
      }
    }
  }

  void lists(const std::string& path, const Json& expected, const Json& actual) {
    if (expected.size() != actual.size()) {
      found_.push_back(path + ": expected " + std::to_string(expected.size()) + " items, got " +
                       std::to_string(actual.size()));
      return;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      at(path + "[" + std::to_string(i) + "]", expected[i], actual[i]);
    }
  }

  double relative_, absolute_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> differences(const Json& expected, const Json& actual, double relative, double absolute) {
  Comparison comparison(relative, absolute);
  comparison.at("expect", expected, actual);
  return std::move(comparison).found();
}

}  // namespace shardsim::golden
