#include "sim/engine/rank_streams.h"

#include <limits>
#include <utility>

namespace shardsim {
namespace {

// Nobody waits on this rank for what does not run here.
constexpr int kTakesNoPart = std::numeric_limits<int>::max();

}  // namespace

RankStreams::RankStreams(const Program& program, int iterations, const std::vector<int>& ops, Orders& known)
    : program_(program),
      count_(static_cast<int>(ops.size())),
      iterations_(iterations),
      streams_(program.streams.size()),
      ended_(program.ops.size(), kTakesNoPart) {
  std::vector<std::vector<int>> orders(streams_.size());
  for (const int op : ops) {
    ended_[op] = -1;
    orders[program.ops[op].stream].push_back(op);
  }
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    if (!orders[stream].empty()) streams_[stream].ops = &*known.insert(std::move(orders[stream])).first;
  }
}

std::optional<RankStreams::Next> RankStreams::head_of(Stream& stream) const {
  if (stream.ops == nullptr || stream.iteration >= iterations_) return std::nullopt;
  const int op = (*stream.ops)[stream.next];
  const int from = stream.awaited.op < 0 ? 0 : stream.awaited.place + 1;
  stream.awaited = awaited_by(program_.ops[op], stream.iteration, from);
  if (!has_ended(stream.awaited)) return std::nullopt;
  stream.busy = true;
  return Next{op, stream.iteration};
}

void RankStreams::end(int op) {
  Stream& stream = streams_[program_.ops[op].stream];
  stream.busy = false;
  const auto iteration = static_cast<std::size_t>(++ended_[op]);
  if (iteration >= left_.size()) left_.resize(iteration + 1, count_);
  --left_[iteration];
  if (++stream.next < static_cast<int>(stream.ops->size())) return;
  stream.next = 0;
  ++stream.iteration;
}

bool RankStreams::finished(int iteration) const {
  if (iteration >= iterations_) return false;
  if (iteration >= static_cast<int>(left_.size())) return count_ == 0;
  return left_[iteration] == 0;
}

RankStreams::Awaited RankStreams::awaited_by(const Op& op, int iteration, int from) const {
  const int own = static_cast<int>(op.after.size()), all = own + static_cast<int>(op.after_previous.size());
  for (int place = from; place < all; ++place) {
    const Awaited each = place < own ? Awaited{op.after[place], iteration, place}
                                     : Awaited{op.after_previous[place - own], iteration - 1, place};
    if (!has_ended(each)) return each;
  }
  return {};
}

}  // namespace shardsim
