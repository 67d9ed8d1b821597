#include "program/timeline/rank_spans.h"

#include <numeric>
#include <stdexcept>
#include <utility>

namespace shardsim {

RankSpans::RankSpans(const Timeline& timeline)
    : begin_(static_cast<std::size_t>(timeline.world_size) + 1, 0), spans_(timeline.spans.size()) {
  if (!std::in_range<std::uint32_t>(spans_.size())) throw std::length_error("RankSpans: too many spans");
  for (const Span& span : timeline.spans) ++begin_[static_cast<std::size_t>(span.rank) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < spans_.size(); ++i)
    spans_[next[static_cast<std::size_t>(timeline.spans[i].rank)]++] = static_cast<std::uint32_t>(i);
}

}  // namespace shardsim
