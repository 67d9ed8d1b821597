#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "program/program.h"

namespace shardsim {

// The amounts that the batches of the ranks bring to a step: one number where it is the same on all ranks, else one
// each. Whether the step exists must not depend on what was drawn: so an amount of drawn batches says, too, whether it
// can be above 0.
struct OwnAmount {
  PerRank of;
  bool any = false;  // above 0 on some rank, or in some other drawn batch

  static OwnAmount expected(double value) { return {{{value}}, value > 0}; }
  static OwnAmount drawn(std::vector<double> values) { return {{std::move(values)}, true}; }

  OwnAmount& operator+=(const OwnAmount& more) {
    const std::size_t ranks = std::max(of.values.size(), more.of.values.size());
    if (of.values.size() < ranks) of.values.assign(ranks, of.values.front());
    for (std::size_t rank = 0; rank < ranks; ++rank) of.values[rank] += more.of.at(rank);
    any = any || more.any;
    return *this;
  }
  OwnAmount& operator*=(double factor) {
    for (double& value : of.values) value *= factor;
    return *this;
  }
};

inline OwnAmount operator+(OwnAmount a, const OwnAmount& b) {
  return a += b;
}
inline OwnAmount operator*(double factor, OwnAmount amount) {
  return amount *= factor;
}

}  // namespace shardsim
