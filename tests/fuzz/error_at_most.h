#pragma once

#include "base/error.h"

namespace shardsim::fuzz {

// What a reader may do with any bytes: answer, or throw an Error.
template <typename Body>
void expect_error_at_most(Body body) {
  try {
    body();
  } catch (const Error&) {
  }
}

}  // namespace shardsim::fuzz
