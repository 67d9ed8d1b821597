#include "accuracy/measurements/read/table_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "accuracy/measurements/read/nccl_run.h"
#include "base/text.h"

namespace shardsim {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kFigures = 3;  // out of place: time, algbw, busbw

bool is_unit(const std::string& word) {
  return word.starts_with('(') && word.ends_with(')');
}

// Of a type or an operation.
bool is_name(const std::string& word) {
  return !word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

// The root that begins a word, all of it or what a message stands behind; "" where none does.
std::string root_in(const std::string& word) {
  const std::size_t digits = word.starts_with('-') ? 1 : 0;
  const std::size_t end = word.starts_with("-1") ? 2 : word.find_first_not_of("0123456789", digits);
  return end == digits ? "" : word.substr(0, end);
}

// How many of the words are the columns before the time, and those columns that are not blank, in words.
struct Leading {
  std::size_t words = 0;
  Words values;
  bool is_cut = false;  // by a message behind the root
};

Leading leading_of(const TableLayout& layout, const Words& words) {
  Leading found;
  for (const std::string& column : layout.leading) {
    if (found.words == words.size()) break;
    const std::string& word = words[found.words];
    if (column == "root") {
      const std::string root = root_in(word);
      if (root.empty() || (word.find('.') != std::string::npos && is_figure(word))) continue;
      found.is_cut = root.size() < word.size();
      found.values.push_back(root);
    } else if (column == layout.leading[0] || column == layout.leading[1] ? is_digits(word) : is_name(word)) {
      found.values.push_back(word);
    } else {
      continue;
    }
    ++found.words;
  }
  return found;
}

}  // namespace

bool is_figure(const std::string& word) {
  if (word == "N/A") return true;
  return word.find_first_of("0123456789") != std::string::npos &&
         word.find_first_not_of("0123456789.eE+-") == std::string::npos;
}

bool TableLayout::fits(const Words& words) const {
  return words.size() >= trailing + 2 && words.size() <= trailing + leading.size();
}

std::optional<TableLayout> layout_of(const Words& words, const Place& place) {
  const bool is_oldest = !words.empty() && words[0] == "bytes";
  if (words.size() < 3 || (words[0] != "size" && !is_oldest)) return std::nullopt;
  const auto algbw = std::ranges::find(words, "algbw");
  if (algbw == words.end()) return std::nullopt;
  const auto time = algbw - 1;
  if (*time != "time") {
    throw input_error(place, "the column before algbw is " + excerpt(*time) + ", not time", kAsPrinted);
  }
  TableLayout layout{{words.begin(), time}, static_cast<std::size_t>(words.end() - time), {time, words.end()}};
  if (words.back() == "timestamp") ++layout.trailing;  // a date and a time
  if (is_oldest) layout.us_per_time = 1e3;
  return layout;
}

void check_units(const Words& words, const Place& place) {
  Words units;
  std::ranges::copy_if(words, std::back_inserter(units), is_unit);
  const auto rate = std::ranges::find_if(units, [](const std::string& unit) { return unit.ends_with("B/s)"); });
  const auto check = [&](const char* column, const std::string& unit, const char* due) {
    if (unit == due) return;
    throw input_error(place, fmt::format("the unit of column {} is {}, not {}", column, unit, due), kAsPrinted);
  };
  if (units.empty() || words.empty() || words[0] != units.front()) return;  // another comment
  check("size", units.front(), "(B)");
  if (rate == units.end() || rate == units.begin()) return;
  check("time", *(rate - 1), "(us)");
  check("algbw", *rate, "(GB/s)");
}

Words beginning_of_row(const TableLayout& layout, const Words& words) {
  Leading leading = leading_of(layout, words);
  if (leading.is_cut) return leading.values;
  const auto figures = words.begin() + static_cast<std::ptrdiff_t>(leading.words);
  std::copy(figures, std::find_if_not(figures, words.end(), is_figure), std::back_inserter(leading.values));
  if (leading.values.size() > layout.leading.size() + layout.trailing) return {};
  return leading.values;
}

std::optional<Words> completed_row(const TableLayout& layout, Words piece) {
  const std::size_t leading = leading_of(layout, piece).words;
  if (leading < 2 || piece.size() < leading + kFigures) return std::nullopt;
  if (piece.size() > leading + layout.trailing) return std::nullopt;
  piece.resize(leading + layout.trailing, "N/A");
  return piece;
}

}  // namespace shardsim
