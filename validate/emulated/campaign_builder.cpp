#include "validate/emulated/campaign_builder.h"

#include <algorithm>

#include "base/error.h"

namespace shardsim {
namespace {

using Dense = std::vector<std::vector<std::int64_t>>;

Dense nothing(std::size_t members) {
  return Dense(members, std::vector<std::int64_t>(members, 0));
}

// The one that is `nodes` nodes and `places` places further on.
int shifted(int rank, int nodes, int places, const NodeShape& shape) {
  const int node = (rank / shape.ranks_per_node + nodes) % shape.nodes;
  return node * shape.ranks_per_node + (rank % shape.ranks_per_node + places) % shape.ranks_per_node;
}

}  // namespace

std::int64_t whole_blocks(std::int64_t bytes) {
  constexpr std::int64_t kBlock = 64;
  return std::max(kBlock, bytes / kBlock * kBlock);
}

CampaignBuilder::CampaignBuilder(const NodeShape& shape) : shape_(shape) {
  program_.scenario = "campaign";
  program_.world_size = shape.world_size();
  program_.ranks_per_node = shape.ranks_per_node;
  program_.batch_per_rank = 1;
  std::vector<std::vector<int>> world(1), nodes(shape.nodes), rails(shape.ranks_per_node);
  for (int rank = 0; rank < shape.world_size(); ++rank) {
    world.front().push_back(rank);
    nodes[rank / shape.ranks_per_node].push_back(rank);
    rails[rank % shape.ranks_per_node].push_back(rank);
  }
  program_.groups = {{"world", world}, {"node", nodes}, {"cross_node", rails}};
}

void CampaignBuilder::add(Op op) {
  op.id = static_cast<int>(program_.ops.size());
  op.stream = stream_;
  op.dtype = "fp32";
  if (!program_.ops.empty() && program_.ops.back().stream == stream_) op.after = {op.id - 1};
  program_.ops.push_back(std::move(op));
}

void CampaignBuilder::exchange(const std::string& group, Dense bytes) {
  Op op;
  op.op_class = OpClass::all_to_all;
  op.name = group + "_all_to_all";
  op.group = group;
  op.matrix.index = static_cast<int>(program_.matrices.size());
  program_.matrices.push_back(
      {"bytes" + std::to_string(op.matrix.index), {ByteMatrix::Kind::dense, 1, {}, std::move(bytes), false}});
  add(std::move(op));
}

void CampaignBuilder::send(std::int64_t bytes, const std::vector<std::pair<int, int>>& pairs) {
  Dense matrix = nothing(members("world"));
  for (const auto& [from, to] : pairs) matrix[from][to] = bytes;
  exchange("world", std::move(matrix));
}

void CampaignBuilder::uneven(const std::function<std::int64_t(int from, int to)>& bytes) {
  Dense matrix = nothing(members("world"));
  for (int from = 0; from < shape_.world_size(); ++from) {
    for (int to = 0; to < shape_.world_size(); ++to) matrix[from][to] = from == to ? 0 : bytes(from, to);
  }
  exchange("world", std::move(matrix));
}

void CampaignBuilder::all_to_all(const std::string& group, std::int64_t bytes_per_pair) {
  Dense matrix(members(group), std::vector<std::int64_t>(members(group), bytes_per_pair));
  for (std::size_t member = 0; member < matrix.size(); ++member) matrix[member][member] = 0;
  exchange(group, std::move(matrix));
}

void CampaignBuilder::pairwise(const std::function<std::int64_t(int from)>& bytes) {
  for (int step = 1; step < shape_.world_size(); ++step) {
    Dense matrix = nothing(members("world"));
    for (int from = 0; from < shape_.world_size(); ++from) {
      matrix[from][shifted(from, step / shape_.ranks_per_node, step % shape_.ranks_per_node, shape_)] = bytes(from);
    }
    exchange("world", std::move(matrix));
  }
}

void CampaignBuilder::reduce(OpClass op_class, const std::string& group, std::int64_t bytes) {
  const auto count = static_cast<std::int64_t>(members(group));
  Op op;
  op.op_class = op_class;
  op.name = group + "_" + std::string(op_class_name(op_class));
  op.group = group;
  op.bytes = count * whole_blocks(bytes / count);
  add(std::move(op));
}

Program CampaignBuilder::program(const std::string& name) {
  program_.case_name = name;
  program_.streams = {"first"};
  if (stream_ > 0) program_.streams.push_back("second");
  check_program(program_, Place{"campaign item " + name});
  return program_;
}

}  // namespace shardsim
