#include "base/case_name.h"

#include <doctest/doctest.h>

namespace shardsim::case_name_test {
namespace {

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST_CASE("names of cases are paths of a few parts") {
  for (const char* good : {"main", "v3.1/h100/8x55296", "A b", "...", "\xc2\xb5"}) CHECK(case_name_fault(good).empty());
  CHECK(case_name_fault(repeated("a/", 15) + "a").empty());
  CHECK(case_name_fault(std::string(256, 'x')).empty());
}

TEST_CASE("what cannot be a group of timeline.h5, or costs minutes as one, is no name of a case") {
  CHECK(case_name_fault("") == "is empty");
  for (const char* bad : {"/", "/a", "a/", "a//b"}) CHECK(case_name_fault(bad) == "has an empty part");
  CHECK(case_name_fault(".") == "has the part '.'");
  CHECK(case_name_fault("a/../b") == "has the part '..'");
  CHECK(case_name_fault(repeated("a/", 16) + "a") == "has over 16 parts");
  CHECK(case_name_fault(repeated("/", 200)) == "has over 16 parts");
  CHECK(case_name_fault(std::string(257, 'x')) == "has over 256 bytes");
  CHECK(case_name_fault("a\nb") == "holds a control character");
  CHECK(case_name_fault(std::string("a\0b", 3)) == "holds a control character");
}

}  // namespace
}  // namespace shardsim::case_name_test
