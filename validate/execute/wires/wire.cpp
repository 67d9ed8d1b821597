#include "validate/execute/wires/wire.h"

namespace shardsim {

void Wire::exchange_when_met(int channel, std::span<const Sending> sends, std::span<const Receiving> receives) {
  const std::byte here{1};
  std::vector<std::byte> heard(sends.size());
  std::vector<Sending> calls;
  std::vector<Receiving> answers;
  for (const Receiving& one : receives)
    if (one.bytes > 0) calls.push_back({one.peer, &here, 1});
  for (std::size_t i = 0; i < sends.size(); ++i)
    if (sends[i].bytes > 0) answers.push_back({sends[i].peer, &heard[i], 1});
  exchange(channel, calls, answers);
  exchange(channel, sends, receives);
}

}  // namespace shardsim
