#include <doctest/doctest.h>

#include "base/files.h"

namespace shardsim::version_test {

TEST_CASE("the version is one word") {
  CHECK_FALSE(version().empty());
  CHECK(version().find_first_of(" \n\t") == std::string::npos);
}

}  // namespace shardsim::version_test
