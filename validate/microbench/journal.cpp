#include "validate/microbench/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/stop_signals.h"
#include "base/text.h"
#include "validate/execute/meet/layout.h"
#include "validate/execute/meet/rendezvous.h"
#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

constexpr const char* kMark = "# shardsim-microbench journal; ";
constexpr const char* kRemedy =
    "Use the options and the machine of that measurement, choose another output, or remove the journal";

// The first part of two heads that differs, as a sentence.
std::string difference(const std::string& theirs, const std::string& ours) {
  const std::vector<std::string> old = split(theirs, ';'), wanted = split(ours, ';');
  const auto part = [](const std::vector<std::string>& parts, std::size_t i) {
    return i < parts.size() ? parts[i].substr(parts[i].starts_with(' ') ? 1 : 0) : "nothing";
  };
  std::size_t at = 0;
  while (at < old.size() && at < wanted.size() && old[at] == wanted[at]) ++at;
  return fmt::format("it says {} where this one has {}", excerpt(part(old, at)), excerpt(part(wanted, at)));
}

bool is_gone(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && status.st_nlink == 0;
}

// "8 x node0, GPU": neighbours that say the same, once.
std::string counted_runs(const std::vector<std::string>& texts) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, end = 0; i < texts.size(); i = end) {
    while (end < texts.size() && texts[end] == texts[i]) ++end;
    runs.push_back(fmt::format("{} x {}", end - i, texts[i]));
  }
  return join(runs);
}

// Collective: the machines of all ranks in their order.
std::string machines_of(Rendezvous& rendezvous, const std::string& device) {
  return counted_runs(rendezvous.all_gather(host_name() + ", " + device, "naming the machines of the ranks"));
}

}  // namespace

Journal::Journal(const std::filesystem::path& output, const std::string& what)
    : folders_(output.parent_path()), path_(result_target(output).concat(".journal")) {
  const StopDelay whole;
  lock();
  try {
    take(kMark + what);
  } catch (...) {  // no destructor runs after a constructor that threw
    ::close(file_);
    throw;
  }
}

Journal::~Journal() {
  if (empty()) remove();
  if (file_ >= 0) ::close(file_);
}

// The one that a process before this one removes in the same moment is not taken.
void Journal::lock() {
  std::error_code failure;
  const auto status = std::filesystem::symlink_status(path_, failure);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw run_error(path_.string() + ": cannot write it: it is a link, a folder, a pipe or a device",
                    "Remove it, or choose another output");
  do {
    if (file_ >= 0) ::close(file_);
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0) throw cannot_write(path_, std::strerror(errno));
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) continue;
    ::close(file_);
    throw run_error(path_.string() + ": another process is measuring for this output",
                    "Wait until it has ended, or choose another output");
  } while (is_gone(file_));
}

void Journal::take(const std::string& head) {
  std::string text = read_file(path_);
  const std::size_t read = text.size();
  if (!text.starts_with(std::string_view(kMark).substr(0, read)))
    throw input_error({path_}, "it is no journal of measurements", kRemedy);
  const std::size_t end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end + 1);
  std::vector<std::string> all = split(text, '\n');
  while (!all.empty() && all.back().empty()) all.pop_back();
  if (all.size() > 1 && all.front() != head)
    throw input_error({path_}, "the journal belongs to another measurement: " + difference(all.front(), head), kRemedy);
  const bool fresh = all.size() <= 1;                 // a head alone is no measurement
  const std::size_t whole = fresh ? 0 : text.size();  // without a line that was cut off
  if (whole != read && ::ftruncate(file_, static_cast<off_t>(whole)) != 0)
    throw cannot_write(path_, std::strerror(errno));
  if (fresh) append(head + "\n");
  for (std::size_t i = 1; i < all.size(); ++i) lines_.push_back({all[i], {path_, static_cast<int>(i) + 1}});
}

// Returns when the system holds it on its disk.
void Journal::append(const std::string& text) const {
  const StopDelay whole;
  errno = ENOSPC;  // where only a part was written
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fsync(file_) != 0)
    throw cannot_write(path_, std::strerror(errno));
}

void Journal::add(const std::string& line) {
  append(line + "\n");
  added_ = true;
}

void Journal::remove() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::string Journal::remedy() const {
  return fmt::format("What was measured is kept in {}: the same command continues there", path_.string());
}

Error no_line_of(const Journal::Line& line) {
  return input_error(line.place, excerpt(line.text) + " is no line of this measurement",
                     "Remove the journal and begin again");
}

std::string journal_origin(const std::string& device) {
  return fmt::format("{}; on {}; {}", version(), host_name(), device);
}

std::string device_identity(const DeviceFacts& facts) {
  std::string text = facts.name;
  if (facts.num_gpus == 0) text += ", " + counted(static_cast<std::size_t>(facts.threads), "thread");
  for (const auto& [name, value] : facts.more)
    if (name == "pci_address" && !value.empty()) text += " at " + value;
  return text;
}

void SharedJournal::begin(Rendezvous& rendezvous, const std::string& device) {
  const std::string machines = machines_of(rendezvous, device);
  if (rendezvous.rank() == 0) {
    try {
      open(machines);
    } catch (const Error& error) {
      rendezvous.fail(error.what(), "opening the journal");
      throw;
    }
  }
  const std::string there =
      rendezvous.from_root(fmt::format("{}", fmt::join(known(), ",")), "saying what was measured before");
  if (rendezvous.rank() == 0 || there.empty()) return;
  for (const std::string& word : split(there, ',')) know(word);
}

void SharedJournal::open(const std::string& machines) {
  journal_.emplace(output_, journal_origin(machines) + "; " + what_);
  if (opened_) opened_(*journal_);
  for (const Journal::Line& line : journal_->lines()) {
    try {
      take(line);
    } catch (const nlohmann::json::exception&) {
      throw no_line_of(line);
    }
  }
}

void SharedJournal::remove() {
  if (journal_) journal_->remove();
}

}  // namespace shardsim
