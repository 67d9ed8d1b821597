#include "base/hdf5/read_apart.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>

#include "base/error.h"

namespace shardsim::read_apart_test {
namespace {

// The failure and the text of what `read` ends in.
std::pair<Failure, std::string> failure_of(const std::function<std::string()>& read) {
  try {
    read_apart("some.h5", read);
  } catch (const Error& error) {
    return {error.failure(), error.what()};
  }
  return {};
}

}  // namespace

TEST_CASE("what is read apart comes back byte by byte") {
  const std::string bytes("a\0b\xff", 4);
  CHECK(read_apart("some.h5", [&] { return bytes; }) == bytes);
  CHECK(read_apart("some.h5", [] { return std::string(); }).empty());
}

TEST_CASE("an Error of the reader arrives as it was thrown") {
  const auto [failure, text] =
      failure_of([]() -> std::string { throw input_error({"some.h5"}, "no such set", "Add it"); });
  CHECK(failure == Failure::input);
  CHECK(text == "some.h5: no such set. Add it.");
}

TEST_CASE("a library that breaks down is an error of the file, not of this process") {
  for (const int crash : {SIGSEGV, SIGABRT, SIGFPE, SIGALRM}) {
    const auto [failure, text] = failure_of([&] {
      ::raise(crash);
      return std::string("not reached");
    });
    CHECK(failure == Failure::input);
    CHECK(text.find("some.h5: the HDF5 library broke down over this file") == 0);
  }
}

// A limit that hinders nothing, but is one.
TEST_CASE("where memory is limited, a crash of the library is first of all a lack of memory") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit limited{rlim_t{1} << 46, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const auto crashed = [](int crash) {
    return failure_of([crash] {
      ::raise(crash);
      return std::string("not reached");
    });
  };
  for (const int crash : {SIGSEGV, SIGABRT}) {
    const auto [failure, text] = crashed(crash);
    CHECK(failure == Failure::run);
    CHECK(text.find("some.h5: the process may have too little memory") == 0);
  }
  CHECK(crashed(SIGFPE).first == Failure::input);
  setrlimit(RLIMIT_AS, &before);
}

TEST_CASE("a reader that somebody else ended says nothing against the file") {
  CHECK(failure_of([] {
          ::raise(SIGKILL);
          return std::string();
        }).first == Failure::run);
}

}  // namespace shardsim::read_apart_test
