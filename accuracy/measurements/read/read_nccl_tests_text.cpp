#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "accuracy/measurements/read/measurements.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::string_view kStarting = "Collective test starting:";

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

bool is_digits(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

// The position of each word of a row. Type, redop and root may be missing or blank, so what follows them counts from
// the end.
struct Layout {
  std::size_t leading = 0;   // columns before the first time
  std::size_t trailing = 0;  // words from the first time on
  bool is_known() const { return trailing > 0; }
};

// The header line names size, then time, algbw, busbw out of place, then the same in place. The time is the column
// before the first algbw: were it looked for by its name alone, a log that calls it otherwise gave its in-place times.
std::optional<Layout> layout_of(const std::vector<std::string>& words, const Place& place) {
  if (words.size() < 4 || words[0] != "#" || words[1] != "size") return std::nullopt;
  const auto algbw = std::ranges::find(words, "algbw");
  if (algbw == words.end()) return std::nullopt;
  const auto time = algbw - 1;
  if (*time != "time") {
    throw input_error(place, "the column before algbw is " + excerpt(*time) + ", not time",
                      "Give the output as nccl-tests printed it");
  }
  Layout layout{static_cast<std::size_t>(time - words.begin()) - 1, static_cast<std::size_t>(words.end() - time)};
  if (words.back() == "timestamp") ++layout.trailing;  // a date and a time
  return layout;
}

bool is_unit(const std::string& word) {
  return word.starts_with('(') && word.ends_with(')');
}

// The line below the header: "# (B) (elements) (us) (GB/s) (GB/s) ...". A unit that we would read as another one is
// refused; columns without a unit leave no word.
void check_units(const std::vector<std::string>& words, const Place& place) {
  std::vector<std::string> units;
  std::ranges::copy_if(words, std::back_inserter(units), is_unit);
  const auto rate = std::ranges::find_if(units, [](const std::string& unit) { return unit.ends_with("B/s)"); });
  const auto check = [&](const char* column, const std::string& unit, const char* due) {
    if (unit == due) return;
    throw input_error(place, fmt::format("the unit of column {} is {}, not {}", column, unit, due),
                      "Give the output as nccl-tests printed it");
  };
  if (units.empty() || words[1] != units.front()) return;  // another comment
  check("size", units.front(), "(B)");
  if (rate == units.end() || rate == units.begin()) return;
  check("time", *(rate - 1), "(us)");
  check("algbw", *rate, "(GB/s)");
}

class LogReader {
  // Before its uses, which deduce its type.
  template <typename Parse>
  auto checked(const std::string& column, const std::string& word, const Parse& parse) const {
    try {
      return parse(word, place());
    } catch (const Error&) {
      refuse(column, word);
    }
  }

 public:
  LogReader(const std::string& source, const RunHints& hints) : source_(source), run_(setting_of(source, hints)) {}

  void line(const std::string& text) {
    ++line_;
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) return;
    if (words[0] == "#") return comment(text, words);
    if (layout_.is_known() && is_digits(words[0])) result(words);
  }

  Measurements take() {
    if (header_line_ == 0) {
      throw input_error({source_}, "no table of nccl-tests is in the file",
                        "Give the whole output, with the header line that names size, time and algbw, or a .csv file");
    }
    if (zero_sizes_ > 0) {
      result_.notes.push_back(fmt::format("{}: {} rows of size 0 left out", source_, zero_sizes_));
    }
    return std::move(result_);
  }

 private:
  Place place() const { return {source_, line_}; }

  void comment(const std::string& text, const std::vector<std::string>& words) {
    const std::size_t at = text.find(kStarting);
    if (at != std::string::npos) return start(words.back());
    if (words.size() > 2 && words[1] == "Using" && words[2] == "devices") return forget_devices();
    if (words.size() > 2 && words[1] == "Rank") return device(words);
    if (words.size() > 1 && words[1] == "size" && std::ranges::find(words, "cputime") != words.end()) {
      throw input_error(place(), "the run reports CPU time", "Run nccl-tests without -C 1");
    }
    if (header_line_ > 0 && line_ == header_line_ + 1) return check_units(words, place());
    if (const auto layout = layout_of(words, place())) {
      layout_ = *layout;
      header_line_ = line_;
    }
  }

  // A log may hold one program after the other.
  void start(const std::string& program) {
    forget_devices();
    layout_ = {};
    const std::string name = program.substr(program.rfind('/') + 1);
    run_.kind = find_collective_kind(name);
    if (!run_.kind && !run_.asked) {
      throw input_error(place(), "unknown collective " + excerpt(name),
                        known_names_hint(name, collective_kind_names()));
    }
  }

  void forget_devices() {
    run_.hosts.clear();
    run_.ranks = 0;
  }

  void device(const std::vector<std::string>& words) {
    const auto on = std::ranges::find(words, "on");
    if (on == words.end() || on + 1 == words.end()) return;
    run_.hosts.insert(*(on + 1));
    ++run_.ranks;
  }

  void result(const std::vector<std::string>& words) {
    const bool fits = words.size() >= layout_.trailing + 2 && words.size() <= layout_.trailing + layout_.leading;
    if (!fits) {
      throw input_error(place(),
                        fmt::format("a row of {} cells does not fit the header of {} columns", words.size(),
                                    layout_.leading + layout_.trailing),
                        "Give the output as nccl-tests printed it");
    }
    if (!is_digits(words[1])) refuse("count", words[1]);
    const std::int64_t bytes = checked("size", words[0], parse_count);
    if (bytes == 0) {
      ++zero_sizes_;
      return;
    }
    const std::size_t time = words.size() - layout_.trailing;
    const double time_us = checked("time", words[time], parse_real);
    result_.rows.push_back(run_.row(place(), bytes, time_us, checked("algbw", words[time + 1], parse_real)));
  }

  [[noreturn]] void refuse(const std::string& column, const std::string& word) const {
    throw input_error(place(), fmt::format("column {} holds {}, which is no number in range", column, excerpt(word)),
                      "Give the output as nccl-tests printed it");
  }

  std::string source_;
  RunSetting run_;
  Layout layout_;
  int line_ = 0;
  int header_line_ = 0;  // the last one; 0: none yet
  int zero_sizes_ = 0;
  Measurements result_;
};

}  // namespace

Measurements read_nccl_tests_text(std::string_view text, const std::string& source, const RunHints& hints) {
  LogReader reader(source, hints);
  for (const std::string& line : split(text, '\n')) reader.line(line);
  return reader.take();
}

}  // namespace shardsim
