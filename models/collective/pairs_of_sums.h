#pragma once

#include <vector>

namespace shardsim {

// The bytes of every pair of members, n x n by rows, where only the sums are known: member i sends `sent[i]` and
// receives `received[i]`, none to itself. The fill nearest to an even one (iterative proportional fitting from equal
// pairs): its sums are those given, and equal sums give equal pairs. The caller sees to it that such bytes exist: both
// add up to the same, and no member sends more than the others receive. n x n steps a round, n^3 where zeros that the
// sums force (one member that all others send to, say) leave a rest after the last round.
std::vector<double> pairs_of_sums(const std::vector<double>& sent, const std::vector<double>& received);

}  // namespace shardsim
