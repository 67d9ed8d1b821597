#pragma once

#include "validate/microbench/journal.h"

namespace shardsim {

// Says, when a signal ends the process from here on, where what it measured is.
void say_where_kept(const Journal& journal);

// The same of an Error that ends it; the caller throws what it gets. An Error stays as it is where the journal is
// without a line, or null.
Error with_where_kept(const Error& error, const Journal* journal);

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
