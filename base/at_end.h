#pragma once

namespace shardsim {

// Does something when its scope ends, however it ends.
template <typename Action>
struct AtEnd {
  Action action;
  ~AtEnd() { action(); }
};
template <typename Action>
AtEnd(Action) -> AtEnd<Action>;

}  // namespace shardsim
