#pragma once

#include <mutex>
#include <string>

#include "cli/file_kinds.h"
#include "cli/validate/request.h"

namespace shardsim {

// Saves the measurements of the ranks of this process, and says where they are. Any thread may call. The source and the
// request must outlive it.
class KeptMeasurement {
 public:
  // `has_root`: rank 0 is in this process.
  KeptMeasurement(const ValidateSource& source, const ValidateRequest& request, bool has_root)
      : source_(source), request_(request), has_root_(has_root) {}

  // Writes what rank `rank` has, and its traces, where they were asked for (ResultPath::of); a timeline that cannot be
  // written there goes into a new folder of this machine's own that has room. A run that ends in its warm-up has
  // measured nothing, and nothing is written. Errors (Failure::run): a complete timeline could not be written where it
  // was asked for, and the message says where it is kept, or that it is lost; there is no room for an incomplete one;
  // the traces cannot be written.
  void save(const Timeline& timeline, int rank);

  // The line that ends a run after a signal. `why`: what the run failed with, which may say that all is lost.
  std::string stopped(const std::string& why) const;

 private:
  void keep_elsewhere(const Timeline& timeline, const std::string& path, const Error& error);
  void saved(const std::string& path, bool complete);

  const ValidateSource& source_;
  const ValidateRequest& request_;
  const bool has_root_;
  mutable std::mutex mutex_;
  std::string written_;  // the file that has what was measured; "" before there is one
  bool complete_ = false;
};

// Prints a complete measurement: the iteration, each operation's time, and the file that has it.
void print_measured(const Timeline& timeline, const std::string& path);

}  // namespace shardsim
