#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include "accuracy/measurements/read/log_line.h"
#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/nccl_run.h"
#include "accuracy/measurements/read/run_settings.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostLine = 1 << 16;  // longer ones are no lines of nccl-tests; what is beyond is not looked at

using Words = std::vector<std::string>;

bool is_number(const std::string& word) {
  return word == "N/A" || (!word.empty() && word.find_first_not_of("0123456789.eE+-") == std::string::npos);
}

// The position of each word of a row. Type, redop and root may be missing or blank, so what follows them counts from
// the end.
struct Layout {
  Words leading;             // names of the columns before the first time
  std::size_t trailing = 0;  // words from the first time on
  Words after;               // names of the columns from the first time on
  bool is_known() const { return trailing > 0; }
};

// The header line names size, then time, algbw, busbw out of place, then the same in place. The time is the column
// before the first algbw: were it looked for by its name alone, a log that calls it otherwise gave its in-place times.
std::optional<Layout> layout_of(const Words& words, const Place& place) {
  if (words.size() < 3 || words[0] != "size") return std::nullopt;
  const auto algbw = std::ranges::find(words, "algbw");
  if (algbw == words.end()) return std::nullopt;
  const auto time = algbw - 1;
  if (*time != "time") {
    throw input_error(place, "the column before algbw is " + excerpt(*time) + ", not time", kAsPrinted);
  }
  Layout layout{{words.begin(), time}, static_cast<std::size_t>(words.end() - time), {time, words.end()}};
  if (words.back() == "timestamp") ++layout.trailing;  // a date and a time
  return layout;
}

bool is_unit(const std::string& word) {
  return word.starts_with('(') && word.ends_with(')');
}

// The line below the header: "(B) (elements) (us) (GB/s) (GB/s) ...". A unit that we would read as another one is
// refused; columns without a unit leave no word.
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

// "Rank  3 Group  0 Pid 103 on node1 device  3 [0000:e3:00] NVIDIA H200"; some words are missing in some versions, and
// some people write "(node 1)" behind it.
std::optional<RunDevice> device_of(const Words& words, const Place& place) {
  if (words.size() < 2 || !is_digits(words[1]) || words[1].size() > 7) return std::nullopt;
  RunDevice device{place, std::stoi(words[1]), 0, "", "", std::nullopt, "", ""};
  std::size_t at = 2;
  for (; at + 1 < words.size(); at += 2) {
    const std::string &key = words[at], &value = words[at + 1];
    const bool is_count = is_digits(value) && value.size() < 8;
    if (key == "Group" && is_count) {
      device.group = std::stoi(value);
    } else if (key == "Pid") {
      device.pid = value;
    } else if (key == "on") {
      device.host = value;
    } else if (key == "device" && is_count) {
      device.number = std::stoi(value);
    } else {
      break;
    }
  }
  if (at < words.size() && words[at].starts_with('[')) device.bus = words[at++];
  Words name(words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end());
  if (name.size() >= 2 && name[name.size() - 2] == "(node" && name.back().ends_with(')')) {
    if (device.host.empty()) device.host = "node " + name.back().substr(0, name.back().size() - 1);
    name.resize(name.size() - 2);
  }
  device.name = join(name, " ");
  return device;
}

// Lines of other programs are most of a large log, and begin otherwise than those of nccl-tests do.
bool may_be_ours(std::string_view text) {
  static constexpr std::array<std::string_view, 14> kBegins = {"#",
                                                               "Rank ",
                                                               "size ",
                                                               "(B)",
                                                               "Using devices",
                                                               "nThread ",
                                                               "Collective test starting:",
                                                               "Out of bounds values",
                                                               "Avg bus bandwidth",
                                                               "nccl-tests version",
                                                               "rccl-tests version",
                                                               "RCCL version",
                                                               "HIP version",
                                                               "NCCL_"};
  if (text.empty()) return false;
  if ((text.front() >= '0' && text.front() <= '9') || text.front() == '.') return true;
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return text.starts_with(begin); });
}

// "node2: Test NCCL failure alltoall.cu:69 'unhandled cuda error'".
bool is_failure(std::string_view text) {
  return text.find("Test NCCL failure") != std::string_view::npos ||
         text.find("Test CUDA failure") != std::string_view::npos;
}

// Pages of wikis and mails keep columns apart by blanks that do not break, and who copies a table from one copies
// these.
constexpr std::string_view kHardBlank = "\xc2\xa0";

std::string with_plain_blanks(std::string text) {
  for (std::size_t at = text.find(kHardBlank); at != std::string::npos; at = text.find(kHardBlank, at))
    text.replace(at, kHardBlank.size(), " ");
  return text;
}

class LogReader {
 public:
  LogReader(const std::string& source, const RunHints& hints) : source_(source), runs_(source, hints) {}

  void line(std::string_view whole) {
    if (++line_ == 1) refuse_compressed(whole);
    const bool is_decorated =
        whole.find('\x1b') != std::string_view::npos || whole.find(kHardBlank) != std::string_view::npos;
    const std::string plain = is_decorated ? with_plain_blanks(without_escapes(whole)) : "";
    std::string_view text = labels_.without(is_decorated ? plain : whole);
    for (const RunSetting& setting : settings_in(text)) runs_.set(setting);
    if (const auto program = program_of_command(text)) return start(*program);
    if (is_failure(text)) runs_.fail(std::string(text.substr(text.find("Test "))));
    if (!may_be_ours(text)) return;
    while (text.starts_with('#')) text.remove_prefix(1);
    const Words words = words_in(text);
    if (words.empty()) return;
    if (is_number(words[0])) return number_line(words);
    comment(text, words);
  }

  Measurements take() {
    if (header_line_ == 0) {
      throw input_error({source_}, "no table of nccl-tests is in the file",
                        "Give the whole output, with the header line that names size, time and algbw, or a .csv file");
    }
    return runs_.take();
  }

 private:
  Place place() const { return {source_, line_}; }

  void refuse_compressed(std::string_view first) const {
    static constexpr std::array<std::pair<std::string_view, const char*>, 4> kMarks = {{{"\x1f\x8b", "gzip"},
                                                                                        {"BZh", "bzip2"},
                                                                                        {"\xfd"
                                                                                         "7zXZ",
                                                                                         "xz"},
                                                                                        {"\x28\xb5\x2f\xfd", "zstd"}}};
    for (const auto& [mark, program] : kMarks)
      if (first.starts_with(mark))
        throw input_error({source_}, fmt::format("the file is compressed by {}", program), "Unpack it first");
  }

  void comment(std::string_view text, const Words& words) {
    constexpr std::string_view kStarting = "Collective test starting:";
    if (text.find(kStarting) != std::string_view::npos) return start(words.back());
    if (words[0] == "Using" && words.size() > 1 && words[1].starts_with("devices")) return runs_.begin_devices();
    if (words[0] == "rccl-tests") return runs_.foreign_program("rccl-tests");
    // Older ones print no name of the GPUs, and call themselves nccl-tests.
    if ((words[0] == "RCCL" || words[0] == "HIP") && words.size() > 1 && words[1] == "version")
      return runs_.foreign_program("RCCL");
    if ((words[0] == "Out" && text.find("Out of bounds values") != std::string_view::npos) || words[0] == "Avg")
      runs_.end();
    if (words[0] == "Out" && words.back() == "FAILED") return runs_.wrong_values(words[words.size() - 2]);
    if (words[0] == "Rank") {
      if (auto device = device_of(words, place())) runs_.add(std::move(*device));
      return;
    }
    if (words[0] == "size" && std::ranges::find(words, "cputime") != words.end())
      throw input_error(place(), "the run reports CPU time", "Run nccl-tests without -C 1");
    if (header_line_ > 0 && line_ == header_line_ + 1) return check_units(words, place());
    if (auto layout = layout_of(words, place())) {
      layout_ = std::move(*layout);
      header_line_ = line_;
    }
  }

  void start(const std::string& program) {
    layout_ = {};
    runs_.start(program, place());
  }

  // The size and the count of a row that another line broke: so many elements of some bytes, on some ranks.
  static bool is_beginning(const Words& words) {
    if (words.size() != 2 || !is_digits(words[0]) || !is_digits(words[1])) return false;
    constexpr std::size_t kMostDigits = 15;
    if (words[0].size() > kMostDigits || words[1].size() > kMostDigits) return false;
    const long long size = std::stoll(words[0]), count = std::stoll(words[1]);
    return count > 0 && size % count == 0;
  }

  // A row, what is left of one, or numbers of another program.
  void number_line(const Words& words) {
    if (!layout_.is_known()) return;
    const bool fits = words.size() >= layout_.trailing + 2 && words.size() <= layout_.trailing + layout_.leading.size();
    if (is_beginning(words)) return runs_.lose(input_error(place(), "the end of a row is missing", kAsPrinted));
    const bool is_row = is_digits(words[0]) && words.size() > 2 && (is_digits(words[1]) || fits);
    if (!is_row) {
      const bool is_rest = words.size() > 3 && std::ranges::all_of(words, is_number);
      if (is_rest) runs_.lose(input_error(place(), "the beginning of a row is missing", kAsPrinted));
      return;
    }
    if (!fits) {
      return runs_.lose(input_error(place(),
                                    fmt::format("a row of {} cells does not fit the header of {} columns", words.size(),
                                                layout_.leading.size() + layout_.trailing),
                                    kAsPrinted));
    }
    try {
      result(words);
    } catch (const Error& error) {
      runs_.lose(error);
    }
  }

  void result(const Words& words) {
    const std::size_t time = words.size() - layout_.trailing;
    if (!is_digits(words[1])) refuse("count", words[1]);
    PrintedRow row;
    row.place = place();
    row.bytes = checked("size", words[0], parse_count);
    if (row.bytes == 0) return runs_.zero_size();
    row.time_us = checked("time", words[time], parse_real);
    row.algbw = checked("algbw", words[time + 1], parse_real);
    if (layout_.trailing > 2 && words[time + 2] != "N/A") row.busbw = checked("busbw", words[time + 2], parse_real);
    // Where a column is blank, the words before the time are fewer than their names: the type comes first.
    if (time > 2) row.type = words[2];
    if (time > 3 && time == layout_.leading.size() && layout_.leading[3] == "redop") row.reduction = words[3];
    if (row.reduction == "none") row.reduction.clear();
    for (std::size_t i = 0; i < layout_.after.size(); ++i)
      if (layout_.after[i].ends_with("wrong") && words[time + i] != "N/A")
        row.wrong += checked(layout_.after[i], words[time + i], parse_real);
    runs_.add(std::move(row));
  }

  template <typename Parse>
  auto checked(const std::string& column, const std::string& word, const Parse& parse) const
      -> decltype(parse(word, Place{})) {
    try {
      return parse(word, place());
    } catch (const Error&) {
      refuse(column, word);
    }
  }

  [[noreturn]] void refuse(const std::string& column, const std::string& word) const {
    throw input_error(place(), fmt::format("column {} holds {}, which is no number in range", column, excerpt(word)),
                      kAsPrinted);
  }

  std::string source_;
  NcclRuns runs_;
  LineLabels labels_;
  Layout layout_;
  int line_ = 0;
  int header_line_ = 0;  // the last one; 0: none yet
};

}  // namespace

Measurements read_nccl_tests_log(std::istream& log, const std::string& source, const RunHints& hints) {
  LogReader reader(source, hints);
  std::string line;
  std::vector<char> buffer(kMostLine);
  while (log.getline(buffer.data(), static_cast<std::streamsize>(buffer.size())) || log.gcount() > 0) {
    const bool is_cut = log.fail() && !log.eof();
    std::string_view text(buffer.data());
    if (text.ends_with('\r')) text.remove_suffix(1);
    reader.line(without_byte_order_mark(text));
    if (!is_cut) continue;
    log.clear();
    log.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return reader.take();
}

Measurements read_nccl_tests_text(std::string_view text, const std::string& source, const RunHints& hints) {
  std::istringstream log{std::string(text)};
  return read_nccl_tests_log(log, source, hints);
}

}  // namespace shardsim
