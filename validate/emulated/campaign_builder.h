#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "validate/emulated/campaign.h"

namespace shardsim {

// Rounded down to a multiple of 64 bytes, at least 64: what one rank sends in one step.
std::int64_t whole_blocks(std::int64_t bytes);

// Puts one item of the campaign together: collectives one after the other, on one stream or two.
class CampaignBuilder {
 public:
  explicit CampaignBuilder(const NodeShape& shape);

  int nodes() const { return shape_.nodes; }
  int per_node() const { return shape_.ranks_per_node; }

  // Each pair (from, to) of ranks at once.
  void send(std::int64_t bytes, const std::vector<std::pair<int, int>>& pairs);
  // Among all ranks at once; own chunks are left out.
  void uneven(const std::function<std::int64_t(int from, int to)>& bytes);
  // Every ordered pair of the group's members, at once.
  void all_to_all(const std::string& group, std::int64_t bytes_per_pair);
  // Among all ranks in steps, each a permutation inside one tier; a rank goes on when it has sent and received.
  void pairwise(const std::function<std::int64_t(int from)>& bytes);
  // all_reduce, reduce_scatter or all_gather of `bytes` by a ring, in whole blocks.
  void reduce(OpClass op_class, const std::string& group, std::int64_t bytes);
  // What follows runs beside what came before.
  void on_second_stream() { stream_ = 1; }

  Program program(const std::string& name);  // checked

 private:
  void add(Op op);
  void exchange(const std::string& group, std::vector<std::vector<std::int64_t>> bytes);
  std::size_t members(const std::string& group) const { return program_.groups.at(group).front().size(); }

  NodeShape shape_;
  Program program_;
  int stream_ = 0;
};

}  // namespace shardsim
