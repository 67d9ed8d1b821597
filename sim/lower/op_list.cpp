#include <algorithm>
#include <functional>

#include "program/program.h"
#include "sim/lower/group_copies.h"
#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

bool moves_nothing(const ByteMatrix& matrix) {
  return matrix.kind != ByteMatrix::Kind::dense &&
         std::all_of(matrix.units.begin(), matrix.units.end(), [](std::int64_t count) { return count == 0; });
}

}  // namespace

int Lowering::stream_number(Stream stream) const {
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  return found == streams_.end() ? 0 : static_cast<int>(found - streams_.begin());
}

int Lowering::add(const std::string& name, Purpose purpose, Stream stream, std::vector<int> after) {
  Op op;
  op.id = static_cast<int>(program_.ops.size());
  op.name = name;
  op.op_class = class_of(purpose.role).value();
  op.role = purpose.role;
  op.fusion = purpose.fusion;
  op.stream = stream_number(stream);
  std::erase(after, -1);
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  op.after = std::move(after);
  program_.ops.push_back(std::move(op));
  return program_.ops.back().id;
}

int Lowering::add_pass(const std::string& name, Purpose purpose, Stream stream, std::vector<double> hbm_bytes,
                       std::vector<int> after) {
  const int id = add(name, purpose, stream, std::move(after));
  if (std::adjacent_find(hbm_bytes.begin(), hbm_bytes.end(), std::not_equal_to<>()) == hbm_bytes.end()) {
    hbm_bytes.resize(1);
  }
  op_at(id).hbm_bytes.values = std::move(hbm_bytes);
  return id;
}

// HugeCTR has one communicator for all that crosses the network. In a node its GPUs write into each other's memory.
Stream Lowering::stream_of(const std::string& group, OpRole role) const {
  if (group == "world" && sharding_groups_ > 1 && !of_whole_world(role)) return Stream::sharding;
  if (group == "world" || (group == "cross_node" && workload_.hugectr_pipeline())) return Stream::world;
  return group == "node" ? Stream::node : Stream::cross;
}

std::size_t Lowering::members_of(const std::string& group, OpRole role) const {
  const std::size_t members = program_.groups.at(group).front().size();
  return group == "world" && of_whole_world(role) ? members * static_cast<std::size_t>(sharding_groups_) : members;
}

int Lowering::add_exchange(const std::string& name, Purpose purpose, const std::string& group, MatrixUse matrix,
                           const std::string& dtype, std::vector<int> after) {
  if (members_of(group, purpose.role) < 2 || moves_nothing(*ResolvedMatrix(program_, matrix))) return -1;
  const int id = add(name, purpose, stream_of(group, purpose.role), std::move(after));
  // HugeCTR exchanges the hybrid embedding's vectors by itself, beside the communicator of the all-reduce.
  if (hybrid() && purpose.role >= OpRole::lookup) op_at(id).stream = stream_number(Stream::cross);
  op_at(id).group = group;
  op_at(id).matrix = matrix;
  op_at(id).dtype = dtype;
  return id;
}

int Lowering::add_reduction(const std::string& name, Purpose purpose, const std::string& group,
                            const std::vector<std::int64_t>& bytes_by_set, const std::string& dtype,
                            std::vector<int> after) {
  const bool nothing = std::all_of(bytes_by_set.begin(), bytes_by_set.end(), [](std::int64_t b) { return b == 0; });
  if (nothing || members_of(group, purpose.role) < 2) return -1;
  const int id = add(name, purpose, stream_of(group, purpose.role), std::move(after));
  op_at(id).group = group;
  op_at(id).dtype = dtype;
  const bool equal =
      std::adjacent_find(bytes_by_set.begin(), bytes_by_set.end(), std::not_equal_to<>()) == bytes_by_set.end();
  op_at(id).bytes = *std::max_element(bytes_by_set.begin(), bytes_by_set.end());
  if (!equal) op_at(id).bytes_by_set = bytes_by_set;
  return id;
}

int Lowering::last_compute() const {
  for (std::size_t id = program_.ops.size(); id-- > 0;) {
    if (!program_.ops[id].is_collective()) return static_cast<int>(id);
  }
  return 0;
}

Op& Lowering::add_row_work(const char* what, OpRole role, const FusionGroup& group, const LookupPart& part,
                           const std::vector<int>& after, Stream stream) {
  const std::string name = what + std::string(group.sharded ? strategy_name(group.strategy) : "unsharded");
  Op& op = op_at(add(name, group.as(role), stream, after));
  op.shards = part.shards;
  op.ranks = part.ranks;
  return op;
}

int Lowering::add_vector_pass(const std::string& name, OpRole role, const FusionGroup& group,
                              std::vector<double> vectors, std::vector<int> after, Stream stream) {
  for (double& bytes : vectors) bytes *= 2;
  return add_pass(name, group.as(role), stream, std::move(vectors), std::move(after));
}

}  // namespace shardsim
