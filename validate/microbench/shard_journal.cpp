#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "validate/microbench/shard_bench.h"

namespace shardsim {
namespace {

constexpr const char* kMark = "# shardsim-microbench journal, ";

// Appends to a file, and returns when the system holds it on its disk.
void append(const std::filesystem::path& path, const std::string& text) {
  const StopDelay whole;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) throw cannot_write(path, std::strerror(errno));
  const bool good = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  const int failure = errno;
  ::close(file);
  if (!good) throw cannot_write(path, std::strerror(failure));
}

// "SHARD FORWARD_US BACKWARD_US".
void take_line(const std::string& line, const Place& place, std::vector<VisitedShard>& shards) {
  const std::vector<std::string> parts = split(line, ' ');
  if (parts.size() != 3) throw input_error(place, excerpt(line) + " is no label", "Remove the journal and begin again");
  const auto shard = static_cast<std::size_t>(parse_count(parts[0], place));
  const double forward = parse_real(parts[1], place), backward = parse_real(parts[2], place);
  if (shard >= shards.size() || !(forward > 0) || !(backward > 0))
    throw input_error(place, excerpt(line) + " is no label of these shards", "Remove the journal and begin again");
  shards[shard].add({1e-6 * forward, 1e-6 * backward});
}

}  // namespace

ShardJournal::ShardJournal(const std::filesystem::path& output, const std::string& what,
                           std::vector<VisitedShard>& shards)
    : path_(result_target(output).concat(".journal")) {
  const std::string head = kMark + what;
  std::string text = is_there(path_) ? read_file(path_) : "";
  const std::size_t end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end);
  if (text.empty()) text = head;
  const std::vector<std::string> lines = split(text, '\n');
  if (lines.front() != head)
    throw input_error({path_}, "the journal belongs to another measurement: " + excerpt(lines.front()),
                      "Use the same options as that measurement, choose another output, or remove the journal");
  for (std::size_t i = 1; i < lines.size(); ++i) take_line(lines[i], {path_, static_cast<int>(i) + 1}, shards);
  write_file(path_, text + "\n");  // without what was cut off
}

void ShardJournal::add(std::size_t shard, const ShardSeconds& visit) const {
  append(path_, fmt::format("{} {} {}\n", shard, shortest(1e6 * visit.forward), shortest(1e6 * visit.backward)));
}

void ShardJournal::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace shardsim
