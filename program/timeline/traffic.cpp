#include "program/timeline/traffic.h"

#include <algorithm>
#include <optional>

#include "program/program.h"

namespace shardsim {
namespace {

constexpr int kFlowRanks = 256;  // above, the matrix would be larger than the rest of the file

void add_exchange(Timeline& timeline, const ByteMatrix& matrix, const std::vector<int>& group) {
  const int members = static_cast<int>(group.size());
  const std::vector<std::int64_t> sent = matrix.all_sent(members), received = matrix.all_received(members);
  for (int a = 0; a < members; ++a) {
    const std::int64_t own = matrix.bytes_between(a, a, members);
    timeline.bytes_out[group[a]] += sent[a] - own;
    timeline.bytes_in[group[a]] += received[a] - own;
    if (timeline.flow.empty()) continue;
    for (int b = 0; b < members; ++b) {
      if (a == b) continue;
      timeline.flow[group[a] * timeline.world_size + group[b]] += matrix.bytes_between(a, b, members);
    }
  }
}

// Returns the bytes that a member passes on to the next: 2 (n-1)/n of the buffer (all-reduce), (n-1)/n of the total, or
// all of it.
std::int64_t passed_on(const Op& op, std::int64_t bytes, std::int64_t members) {
  if (members < 2) return 0;
  if (op.op_class == OpClass::broadcast || op.op_class == OpClass::send_recv) return bytes;
  const std::int64_t passes = op.op_class == OpClass::all_reduce ? 2 : 1;
  return passes * (members - 1) * bytes / members;
}

void add_ring(Timeline& timeline, const Op& op, std::int64_t of_set, const std::vector<int>& group) {
  const std::int64_t bytes = passed_on(op, of_set, static_cast<std::int64_t>(group.size()));
  // A broadcast ends with the last member.
  const std::size_t senders = group.size() - (op.op_class == OpClass::broadcast ? 1 : 0);
  for (std::size_t member = 0; member < senders; ++member) {
    const int from = group[member];
    const int to = group[(member + 1) % group.size()];
    timeline.bytes_out[from] += bytes;
    timeline.bytes_in[to] += bytes;
    if (!timeline.flow.empty() && from != to) timeline.flow[from * timeline.world_size + to] += bytes;
  }
}

}  // namespace

std::vector<std::int64_t> payloads(const Op& op, const ByteMatrix& matrix, std::int64_t of_set, int members) {
  if (op.op_class != OpClass::all_to_all) return std::vector<std::int64_t>(members, of_set);
  std::vector<std::int64_t> bytes = matrix.all_sent(members);
  const std::vector<std::int64_t> received = matrix.all_received(members);
  for (int member = 0; member < members; ++member) bytes[member] = std::max(bytes[member], received[member]);
  return bytes;
}

void add_traffic(Timeline& timeline, const Program& program) {
  const int world = program.world_size;
  timeline.bytes_out.assign(world, 0);
  timeline.bytes_in.assign(world, 0);
  timeline.flow.assign(world <= kFlowRanks ? static_cast<std::size_t>(world) * world : 0, 0);
  for (const Op& op : program.ops) {
    if (!op.is_collective()) continue;
    const auto& sets = program.groups.at(op.group);
    std::optional<ResolvedMatrix> moved;  // by all sets alike, or by the one that is looked at
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const std::vector<int>& group = sets[set];
      if (op.op_class == OpClass::all_to_all) {
        if (set == 0 || op.matrix.per_set) moved.emplace(program, op.matrix, set);
        add_exchange(timeline, **moved, group);
      } else {
        add_ring(timeline, op, op.bytes_of_set(set) / op.every, group);
      }
    }
  }
}

}  // namespace shardsim
