#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "program/timeline/timeline.h"

namespace shardsim {

// The spans of a Timeline that are a rank's, in the order in which they are: what a list by rank would copy is only
// numbered, for a Timeline of a large world has millions of them.
class RankSpans {
 public:
  explicit RankSpans(const Timeline& timeline);  // at most 2^32 spans

  std::span<const std::uint32_t> of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return {spans_.data() + begin_[index], begin_[index + 1] - begin_[index]};
  }

 private:
  std::vector<std::size_t> begin_;    // [rank], and behind the last one
  std::vector<std::uint32_t> spans_;  // indices into Timeline::spans
};

}  // namespace shardsim
