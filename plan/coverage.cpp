#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plan/check.h"

namespace shardsim {
namespace {

std::string columns_text(std::int64_t begin, std::int64_t end, const Table& table) {
  if (begin == 0 && end == table.dim) return "";
  return fmt::format(", columns {} to {},", begin, end);
}

std::string held_twice(const Placement& a, const Placement& b, const Table& table) {
  return fmt::format(
      "table '{}': rows {} to {}{} are held twice (as {} and as {})", table.name, std::max(a.row_begin, b.row_begin),
      std::min(a.row_end, b.row_end),
      columns_text(std::max(a.column_begin, b.column_begin), std::min(a.column_end, b.column_end), table),
      strategy_name(a.strategy), strategy_name(b.strategy));
}

std::string not_held(std::uint64_t begin, std::uint64_t end, const std::string& columns, const Table& table) {
  return fmt::format("table '{}': rows {} to {}{} are not held by any rank", table.name, begin, end, columns);
}

// The placements that hold the current row, by first column. They never overlap.
class RowSlice {
 public:
  // The one that overlaps `placement`, or null after adding it.
  const Placement* add(const Placement& placement) {
    const auto after = by_column_.lower_bound(placement.column_begin);
    if (after != by_column_.end() && after->first < placement.column_end) return after->second;
    if (after != by_column_.begin() && std::prev(after)->second->column_end > placement.column_begin) {
      return std::prev(after)->second;
    }
    by_column_.emplace_hint(after, placement.column_begin, &placement);
    covered_ += placement.columns();
    return nullptr;
  }

  void remove(const Placement& placement) {
    by_column_.erase(placement.column_begin);
    covered_ -= placement.columns();
  }

  bool full(const Table& table) const { return covered_ == table.dim; }

  std::string first_gap(const Table& table) const {
    std::int64_t end = 0;
    for (const auto& [begin, placement] : by_column_) {
      if (begin > end) return columns_text(end, begin, table);
      end = placement->column_end;
    }
    return columns_text(end, table.dim, table);
  }

 private:
  std::map<std::int64_t, const Placement*> by_column_;
  std::int64_t covered_ = 0;
};

struct Event {
  std::uint64_t row = 0;
  bool begins = false;  // ends come first
  const Placement* placement = nullptr;
};

std::vector<Event> events_of(const std::vector<const Placement*>& placements) {
  std::vector<Event> events;
  for (const Placement* placement : placements) {
    events.push_back({placement->row_begin, true, placement});
    events.push_back({placement->row_end, false, placement});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.row != b.row ? a.row < b.row : a.begins < b.begins; });
  return events;
}

}  // namespace

std::string coverage_fault(const std::vector<const Placement*>& placements, const Table& table) {
  const std::vector<Event> events = events_of(placements);
  if (events.empty()) return not_held(0, table.rows, "", table);
  if (events.front().row > 0) return not_held(0, events.front().row, "", table);
  RowSlice slice;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.begins) {
      if (const Placement* other = slice.add(*event.placement)) return held_twice(*other, *event.placement, table);
    } else {
      slice.remove(*event.placement);
    }
    const std::uint64_t next = i + 1 < events.size() ? events[i + 1].row : table.rows;
    if (next > event.row && !slice.full(table)) return not_held(event.row, next, slice.first_gap(table), table);
  }
  return "";
}

}  // namespace shardsim
