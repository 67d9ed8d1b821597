#pragma once

#include "validate/microbench/journal.h"

namespace shardsim {

// Says, when a signal ends the process from here on, where what it measured is.
void say_where_kept(const Journal& journal);

// The same of an Error that ends it; the caller throws what it gets. An Error of a journal without a line stays as it
// is.
Error with_where_kept(const Error& error, const Journal& journal);

// `measure()`, whose Errors say that.
template <typename Measure>
auto kept(const Journal& journal, const Measure& measure) {
  say_where_kept(journal);
  try {
    return measure();
  } catch (const Error& error) {
    throw with_where_kept(error, journal);
  }
}

}  // namespace shardsim
