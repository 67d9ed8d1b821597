#pragma once

#include "base/error.h"

namespace shardsim::fuzz {

// Checks that a reader answers, or throws an Error, whatever the bytes.
template <typename Body>
void expect_error_at_most(Body body) {
  try {
    body();
  } catch (const Error&) {
  }
}

}  // namespace shardsim::fuzz
