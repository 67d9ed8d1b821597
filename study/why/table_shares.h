#pragma once

#include <map>
#include <vector>

#include "program/program.h"

namespace shardsim {

// The tables that an operation works for, and the part of its work for each: of a lookup, an update or another pass
// over rows the bytes that the rank reads of each table's rows, of an exchange the bytes of all ranks. A fused
// operation has a single time, including its start-up, which is divided in proportion to these parts. This is a
// convention and not a measurement. Program: outlives it.
class TableShares {
 public:
  explicit TableShares(const Program& program) : program_(program) {}

  // Index into Program::tables, and its part; the parts add up to 1. Nothing for operations of no table.
  using Shares = std::map<int, double>;
  const Shares& of(int op, int rank);

  // The same of what that rank holds: of an exchange the bytes of its own shards, which make it longer there than on
  // other ranks. Of an exchange of which it holds nothing, of().
  Shares of_own(int op, int rank);

  // The same of an operation that computes, without the tables of which the rank holds nothing: of many tables on many
  // ranks these are nearly all.
  struct Share {
    int table = 0;
    double part = 0;
  };
  const std::vector<Share>& of_held(int op, int rank);

 private:
  const std::vector<int>& shards_of(const Op& op) const;
  Shares of_computing(const Op& op, int rank);
  Shares of_exchange(const Op& op);
  double exchanged(const Op& op, int shard);
  double exchanged_by(const Op& op, int shard, int rank);
  std::vector<std::vector<Share>> weights_by_rank(const Op& op);
  const std::vector<double>& lookups(int shard);

  const Program& program_;
  std::map<std::pair<int, int>, Shares> known_;                          // by op, and rank
  std::map<std::vector<int>, std::vector<std::vector<Share>>> by_rank_;  // of operations that compute, by shards
  std::map<int, std::vector<double>> lookups_;                           // by shard
};

}  // namespace shardsim
