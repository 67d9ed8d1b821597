#include "validate/execute/meet/failure_cause.h"

#include <doctest/doctest.h>

namespace shardsim::failure_cause_test {

TEST_CASE("a death explains the broken connections that were reported before it") {
  FailureCause cause;
  CHECK_FALSE(cause.trouble());
  cause.reported(report_text(5, "the connection to rank 3 broke", "all_to_all"));
  CHECK(cause.text() == "rank 5 failed during all_to_all: the connection to rank 3 broke");
  cause.died(3, "during all_to_all");
  CHECK(cause.text() == "rank 3 died during all_to_all");
}

TEST_CASE("ranks that die together are named together; of reports the first one counts") {
  FailureCause cause;
  cause.died(5, "");
  cause.died(4, "");
  CHECK(cause.text() == "ranks 4 and 5 died");
  FailureCause reports;
  reports.reported("first");
  reports.reported("second");
  CHECK(reports.text() == "first");
}

}  // namespace shardsim::failure_cause_test
