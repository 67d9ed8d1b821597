#include "base/error.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/text.h"

namespace shardsim::error_test {

TEST_CASE("a place reads FILE:LINE:COLUMN, and leaves out what is not known") {
  CHECK(Place{"a.yaml", 3, 7}.text() == "a.yaml:3:7");
  CHECK(Place{"a.json", 3, 0}.text() == "a.json:3");
  CHECK(Place{"argument --set cluster.nodes", 0, 0}.text() == "argument --set cluster.nodes");
}

TEST_CASE("a message is place, what is wrong, what to do, each a sentence once") {
  CHECK(std::string(input_error({"a.yaml", 1, 2}, "this is wrong", "Do that").what()) ==
        "a.yaml:1:2: this is wrong. Do that.");
  CHECK(std::string(input_error({"a.yaml", 1, 2}, "this is wrong.", "").what()) == "a.yaml:1:2: this is wrong.");
  CHECK(std::string(run_error("the disk is full", "Free some space").what()) == "the disk is full. Free some space.");
}

TEST_CASE("memory that the system refuses is named alike, whoever is refused it") {
  const std::system_error refused(ENOMEM, std::generic_category());
  CHECK(std::string(system_failure(refused).what()) == out_of_memory().what());
  CHECK(std::string(out_of_memory().what()).starts_with("out of memory. "));
  CHECK(std::string(out_of_memory("a.h5").what()).starts_with("a.h5: out of memory. "));
}

TEST_CASE("the kind of failure and the place travel with the error") {
  const Error error = input_error({"a.yaml", 4, 5}, "x", "y");
  CHECK(error.failure() == Failure::input);
  CHECK(error.place() == Place{"a.yaml", 4, 5});
  CHECK(run_error("x", "y").failure() == Failure::run);
}

TEST_CASE("a message is a screen of text at most, its begin and its end are there") {
  const Error error = input_error({std::string(100'000, 'x')}, "\xc3\xa4" + std::string(100'000, 'y'), "Do this");
  const std::string text = error.what();
  CHECK(text.size() < 1700);
  CHECK(text.starts_with("xxx"));
  CHECK(text.ends_with("y. Do this."));
  for (const char* const part : {"", "a"}) {
    std::string umlauts = part;
    for (int i = 0; i < 2000; ++i) umlauts += "\xc3\xa4";
    CHECK(std::string(input_error({}, umlauts, "").what()).find('?') == std::string::npos);
    CHECK(printable(input_error({}, umlauts, "").what()) == input_error({}, umlauts, "").what());
  }
}

}  // namespace shardsim::error_test
