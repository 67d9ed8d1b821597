#include "validate/execute/meet/verdict.h"

#include <doctest/doctest.h>

using namespace shardsim;

TEST_CASE("a death explains the broken connections that were reported before it") {
  Verdict verdict;
  CHECK_FALSE(verdict.trouble());
  verdict.reported(report_text(5, "the connection to rank 3 broke", "all_to_all"));
  CHECK(verdict.text() == "rank 5 failed during all_to_all: the connection to rank 3 broke");
  verdict.died(3, "during all_to_all");
  CHECK(verdict.text() == "rank 3 died during all_to_all");
}

TEST_CASE("ranks that die together are named together; of reports the first one counts") {
  Verdict verdict;
  verdict.died(5, "");
  verdict.died(4, "");
  CHECK(verdict.text() == "ranks 4 and 5 died");
  Verdict reports;
  reports.reported("first");
  reports.reported("second");
  CHECK(reports.text() == "first");
}
