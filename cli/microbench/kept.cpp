#include "cli/microbench/kept.h"

#include "base/stop_signals.h"

namespace shardsim {

void say_where_kept(const Journal& journal) {
  static std::string line;  // the handler of the signal reads it as long as the process lives
  line = "error: stopped. " + journal.remedy() + ".\n";
  say_when_stopped(line.c_str());
}

Error with_where_kept(const Error& error, const Journal* journal) {
  if (journal == nullptr || journal->empty()) return error;
  return Error(error.failure(), {}, error.what(), journal->remedy());
}

}  // namespace shardsim
