#pragma once

#include <string>

#include "base/stop_signals.h"
#include "validate/microbench/journal.h"

namespace shardsim {

// Says, when a signal ends the process from here on, where what it measured is.
inline void say_where_kept(const Journal& journal) {
  static std::string line;  // the handler of the signal reads it as long as the process lives
  line = "error: stopped. " + journal.remedy() + ".\n";
  say_when_stopped(line.c_str());
}

// The same of an Error that ends it; the caller throws what it gets. An Error stays as it is where the journal is
// without a line, or null.
inline Error with_where_kept(const Error& error, const Journal* journal) {
  if (journal == nullptr || journal->empty()) return error;
  return Error(error.failure(), {}, error.what(), journal->remedy());
}

// `measure()`, whose Errors say that. `journal()`: the one that is open when an Error comes, or null.
template <typename OpenJournal, typename Measure>
auto kept_once_open(const OpenJournal& journal, const Measure& measure) {
  try {
    return measure();
  } catch (const Error& error) {
    throw with_where_kept(error, journal());
  }
}

// The same with a journal that is open; so do the signals that end the process.
template <typename Measure>
auto kept(const Journal& journal, const Measure& measure) {
  say_where_kept(journal);
  return kept_once_open([&] { return &journal; }, measure);
}

}  // namespace shardsim
