#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/document/cells.h"
#include "base/statistics.h"
#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

constexpr std::size_t kClassesShown = 16;  // of a case: those of most lookups, the middle one, those of fewest
constexpr std::size_t kSetsShown = 4;      // of the ranks of a class

using LoadClasses = std::vector<std::pair<double, std::vector<int>>>;  // by falling lookups

LoadClasses load_classes(const std::vector<double>& lookups) {
  std::map<double, std::vector<int>, std::greater<>> ranks;
  for (std::size_t rank = 0; rank < lookups.size(); ++rank) ranks[lookups[rank]].push_back(static_cast<int>(rank));
  return {ranks.begin(), ranks.end()};
}

// The first rank sets of a list, and how many ranks more it has.
std::string some_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> sets = split(rank_sets_text(ranks), ',');
  if (sets.size() <= kSetsShown) return join(sets);
  sets.resize(kSetsShown);
  const std::size_t shown = count_in_rank_sets(join(sets, ","), ranks.back() + 1, {});
  return fmt::format("{} and {} more", join(sets), with_thousands(static_cast<std::int64_t>(ranks.size() - shown)));
}

void add_class(Sheet& sheet, const LoadClasses::value_type& alike, double even) {
  const auto& [lookups, ranks] = alike;
  sheet.rows.push_back({{grouped(lookups), fmt::format("{:.4g}", lookups / even),
                         with_thousands(static_cast<std::int64_t>(ranks.size())), some_ranks(ranks)},
                        false});
}

// Classes from `begin` on, up to `end`, in one row that says how many ranks they have.
void add_between(Sheet& sheet, const LoadClasses& classes, double even, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (begin + 1 == end) return add_class(sheet, classes[begin], even);
  std::int64_t ranks = 0;
  for (std::size_t i = begin; i < end; ++i) ranks += static_cast<std::int64_t>(classes[i].second.size());
  sheet.rows.push_back(
      {{"", "", with_thousands(ranks), fmt::format("between these: {} more numbers of lookups", end - begin)}, true});
}

// The class in which the rank lies that as many look up more as look up less.
std::size_t middle_of(const LoadClasses& classes, std::size_t ranks) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    before += classes[i].second.size();
    if (2 * before >= ranks) return i;
  }
  return 0;
}

std::vector<std::size_t> shown_classes(const LoadClasses& classes, std::size_t ranks) {
  std::vector<std::size_t> shown;
  const std::size_t most = kClassesShown / 2, middle = middle_of(classes, ranks);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes.size() <= kClassesShown || i < most || i == middle || i + most > classes.size()) shown.push_back(i);
  }
  return shown;
}

void add_classes(Sheet& sheet, const CaseResult& item) {
  const std::vector<double>& lookups = item.loads->lookups;
  const LoadClasses classes = load_classes(lookups);
  const double even = mean(lookups);
  sheet.rows.push_back({{item.name}, false});
  std::size_t next = 0;
  for (const std::size_t i : shown_classes(classes, lookups.size())) {
    add_between(sheet, classes, even, next, i);
    add_class(sheet, classes[i], even);
    next = i + 1;
  }
}

}  // namespace

Section load_classes_section(const StudyResult& study) {
  Sheet sheet;
  sheet.columns = {{"lookups"}, {"times the mean"}, {"GPUs"}, {"ranks", false}};
  for (const CaseResult& item : study.cases)
    if (item.loads && has_rank_blocks(item.loads->lookups.size()) && mean(item.loads->lookups) > 0)
      add_classes(sheet, item);
  Section section = table_section(
      "Which ranks look up equally many rows",
      "In large worlds. lookups: the rows that a rank looks up in one iteration, the fullest ranks first; of many "
      "classes those of most lookups, of the median rank and of fewest. "
      "\"0-56:8\" are ranks 0, 8, ... 56.",
      sheet);
  section.folded = true;
  return section;
}

}  // namespace shardsim
