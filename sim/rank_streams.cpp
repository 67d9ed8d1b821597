#include "sim/rank_streams.h"

#include <algorithm>

namespace shardsim {

RankStreams::RankStreams(const Program& program, int rank, int iterations)
    : program_(program),
      streams_(program.streams.size()),
      ended_(program.ops.size(), -1),
      takes_part_(program.ops.size(), 0) {
  int count = 0;
  for (const Op& op : program.ops) {
    const bool part = op.ranks.empty() || std::find(op.ranks.begin(), op.ranks.end(), rank) != op.ranks.end();
    if (!part) continue;
    takes_part_[op.id] = 1;
    streams_[op.stream].ops.push_back(op.id);
    ++count;
  }
  left_.assign(iterations, count);
}

std::optional<RankStreams::Next> RankStreams::take(int index) {
  Stream& stream = streams_[index];
  if (stream.busy || stream.ops.empty() || stream.iteration >= static_cast<int>(left_.size())) return std::nullopt;
  const int op = stream.ops[stream.next];
  if (!ready(program_.ops[op], stream.iteration)) return std::nullopt;
  stream.busy = true;
  return Next{op, stream.iteration};
}

void RankStreams::end(int op) {
  Stream& stream = streams_[program_.ops[op].stream];
  stream.busy = false;
  ++ended_[op];
  --left_[ended_[op]];
  if (++stream.next < stream.ops.size()) return;
  stream.next = 0;
  ++stream.iteration;
}

bool RankStreams::ready(const Op& op, int iteration) const {
  const auto ended_by = [&](int id, int when) { return !takes_part_[id] || ended_[id] >= when; };
  return std::all_of(op.after.begin(), op.after.end(), [&](int id) { return ended_by(id, iteration); }) &&
         std::all_of(op.after_previous.begin(), op.after_previous.end(),
                     [&](int id) { return ended_by(id, iteration - 1); });
}

}  // namespace shardsim
