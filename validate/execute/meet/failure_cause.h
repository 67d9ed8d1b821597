#pragma once

#include <map>
#include <string>
#include <vector>

#include "validate/execute/meet/tcp.h"

namespace shardsim {

// "rank 3", "ranks 1, 2 and 5", "ranks 0 to 7 and 12": ranks for a message, each once.
std::string rank_list(std::vector<int> ranks);

// The cause for which a run failed, out of what is noticed in its last moments: one dead rank makes others report
// broken connections. Deaths count before reports, and of reports the first.
class FailureCause {
 public:
  // "during X", "after X" or "": what the rank was last known to do.
  void died(int rank, const std::string& last_known);
  void silent(int rank, double seconds, const std::string& last_known);
  void reported(const std::string& text);

  bool trouble() const { return !deaths_.empty() || !reports_.empty(); }
  TimePoint since() const { return since_; }  // when the first trouble came
  std::string text() const;

 private:
  void begin();

  std::map<int, std::string> deaths_;  // rank -> what it was doing
  std::vector<std::string> reports_;
  TimePoint since_;
};

std::string report_text(int rank, const std::string& why, const std::string& doing);

}  // namespace shardsim
