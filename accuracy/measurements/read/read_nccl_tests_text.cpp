#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "accuracy/measurements/read/log_line.h"
#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/nccl_run.h"
#include "accuracy/measurements/read/run_settings.h"
#include "accuracy/measurements/read/table_layout.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostLine = 1 << 16;  // longer ones are no lines of nccl-tests; what is beyond is not looked at

using Words = std::vector<std::string>;

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
  static constexpr std::array<std::string_view, 16> kBegins = {"#",
                                                               "Rank ",
                                                               "size ",
                                                               "bytes ",
                                                               "(B)",
                                                               "Using devices",
                                                               "nThread ",
                                                               "Blocking Enabled",
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

// Exports of a table keep its columns apart by commas, bars or the like. Which one it is, the header line says.
class TableColumns {
 public:
  // The line with blanks between its columns; "" where it has blanks there already.
  std::string in_blanks(std::string_view line) {
    constexpr std::string_view kSeparators = ",|;\t";
    if (line.find("algbw") != std::string_view::npos) {
      const std::size_t first = line.find_first_of(kSeparators);
      separator_ = first == std::string_view::npos ? ' ' : line[first];
    }
    if (separator_ == ' ' || line.find(separator_) == std::string_view::npos) return "";
    std::string plain(line);
    std::ranges::replace(plain, separator_, ' ');
    std::erase(plain, '"');
    return plain.substr(std::min(plain.find_first_not_of(' '), plain.size()));
  }

 private:
  char separator_ = ' ';
};

class LogReader {
 public:
  LogReader(const std::string& source, const RunHints& hints) : source_(source), runs_(source, hints) {}

  void line(std::string_view whole) {
    if (++line_ == 1) refuse_compressed(whole);
    const bool is_decorated =
        whole.find('\x1b') != std::string_view::npos || whole.find(kHardBlank) != std::string_view::npos;
    const std::string plain = is_decorated ? with_plain_blanks(without_escapes(whole)) : "";
    std::string_view text = labels_.without(is_decorated ? plain : whole);
    is_broken_ = text.find("NCCL ") != std::string_view::npos;
    for (const RunSetting& setting : settings_in(text)) runs_.set(setting);
    const bool continues = continues_;
    continues_ = text.ends_with('\\');
    const auto command = command_in(text);
    if (command) start(*command, continues);
    if (!is_broken_ && RunMethod::splits(text)) runs_.method().split();
    if (command) return;
    if (continues && is_of_command_) return runs_.method().read_options(words_in(text));
    is_of_command_ = false;
    if (is_failure(text)) runs_.fail(std::string(text.substr(text.find("Test "))));
    const std::string cells = is_broken_ ? "" : columns_.in_blanks(text);
    if (!cells.empty()) text = cells;
    if (!may_be_ours(text)) return;
    while (text.starts_with('#')) text.remove_prefix(1);
    Words words = words_in(text);
    if (words.empty()) return;
    if (const std::string bytes = bytes_of(words); !bytes.empty()) words[0] = bytes;
    if (is_figure(words[0])) return number_line(words);
    comment(text, words);
  }

  Measurements take() {
    lose_piece();
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
    if (words[0] == "Out" || words[0] == "Avg") lose_piece();
    constexpr std::string_view kStarting = "Collective test starting:";
    if (text.find(kStarting) != std::string_view::npos) {
      layout_ = {};
      return runs_.start(words.back(), place());
    }
    if (words[0] == "nThread") return runs_.method().read_header(words);
    if (words[0] == "Blocking") return runs_.method().set("blocking", "1");
    if (words[0] == "Using" && words.size() > 1 && words[1].starts_with("devices")) return runs_.begin_devices();
    if (text.find("MSCCL++") != std::string_view::npos) return runs_.foreign_library("MSCCL++", place());
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

  // A line that goes on behind a backslash may have its launcher above.
  void start(NcclCommand command, bool continues) {
    layout_ = {};
    command.is_launched = command.is_launched || continues;
    is_of_command_ = true;
    runs_.start(command, place());
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
    const bool is_rest = words.size() > 2 && std::ranges::all_of(words, is_figure);
    if (is_rest && !layout_.fits(words) && take_rest(words)) return;
    if (is_beginning(words)) return runs_.lose(input_error(place(), "the end of a row is missing", kAsPrinted));
    const bool is_row = is_digits(words[0]) && words.size() > 2 && (is_digits(words[1]) || layout_.fits(words));
    if (!is_row) {
      if (is_rest && words.size() > 3)
        runs_.lose(input_error(place(), "the beginning of a row is missing", kAsPrinted));
      return;
    }
    lose_piece();
    if (layout_.fits(words) && !is_broken_) return row(words);
    if (is_broken_ && begin_piece(words)) return;
    runs_.lose(input_error(place(),
                           fmt::format("a row of {} cells does not fit the header of {} columns", words.size(),
                                       layout_.leading.size() + layout_.trailing),
                           kAsPrinted));
  }

  void row(const Words& words) {
    try {
      result(words);
    } catch (const Error& error) {
      runs_.lose(error);
    }
  }

  // nccl-tests prints the beginning of a row before it measures, and a message of NCCL (NCCL_DEBUG=INFO) may come
  // between. Returns false where the line holds no beginning.
  bool begin_piece(const Words& words) {
    Words piece = beginning_of_row(layout_, words);
    if (piece.size() < 2) return false;
    piece_line_ = line_;
    if (const auto whole = completed_row(layout_, piece)) {
      left_ = layout_.trailing;  // at most
      row(*whole);
      return true;
    }
    piece_ = std::move(piece);
    return true;
  }

  // Figures that go on with a row that a message broke. Returns false where there is none, or they do not make one.
  bool take_rest(const Words& words) {
    if (piece_.empty()) {
      const bool is_left = left_ > 0 && words.size() < left_;  // of a row that was taken without its end
      left_ = 0;
      return is_left;
    }
    Words joined = piece_;
    joined.insert(joined.end(), words.begin(), words.end());
    const auto whole = completed_row(layout_, std::move(joined));
    if (!whole) return false;
    piece_.clear();
    left_ = layout_.trailing - words.size() + 1;
    row(*whole);
    return true;
  }

  void lose_piece() {
    left_ = 0;
    if (piece_.empty()) return;
    piece_.clear();
    runs_.lose(input_error({source_, piece_line_}, "the end of a row is missing", kAsPrinted));
  }

  // The bytes of a size that somebody wrote with a unit, "1M", in digits; "" of any other word, and where it is no
  // whole number of elements.
  std::string bytes_of(const Words& words) const {
    if (!layout_.is_known() || words.size() < 3 || !is_digits(words[1])) return "";
    const std::size_t digits = words[0].find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos || digits > 6 || words[1].size() > 15) return "";
    static const std::map<std::string, int, std::less<>> kShifts = {
        {"K", 10}, {"KB", 10}, {"KiB", 10}, {"M", 20}, {"MB", 20}, {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}};
    const auto shift = kShifts.find(words[0].substr(digits));
    if (shift == kShifts.end()) return "";
    const long long bytes = std::stoll(words[0]) << shift->second, count = std::stoll(words[1]);
    return count > 0 && bytes % count == 0 ? std::to_string(bytes) : "";
  }

  void result(const Words& words) {
    const std::size_t time = words.size() - layout_.trailing;
    if (!is_digits(words[1])) refuse("count", words[1]);
    PrintedRow row;
    row.place = place();
    row.bytes = checked("size", words[0], parse_count);
    if (row.bytes == 0) return runs_.zero_size();
    row.time_us = checked("time", words[time], parse_real) * layout_.us_per_time;
    row.algbw = checked("algbw", words[time + 1], parse_real);
    if (layout_.trailing > 2 && words[time + 2] != "N/A") row.busbw = checked("busbw", words[time + 2], parse_real);
    // Where a column is blank, the words before the time are fewer than their names: the type comes first.
    if (time > 2) row.type = words[2];
    const bool has_operation = time > 3 && time == layout_.leading.size();
    if (has_operation && (layout_.leading[3] == "redop" || layout_.leading[3] == "op")) row.reduction = words[3];
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
  TableColumns columns_;
  TableLayout layout_;
  int line_ = 0;
  Words piece_;             // of a row that a message broke
  int piece_line_ = 0;      // where it is
  std::size_t left_ = 0;    // fewer figures than these may follow of a row that was taken without them
  bool is_broken_ = false;  // a message of NCCL is on the line
  int header_line_ = 0;     // the last one; 0: none yet
  bool continues_ = false, is_of_command_ = false;  // the line before ended in a backslash; it is of a command
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
