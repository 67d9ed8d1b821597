#include "cli/validate/kept_measurement.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "cli/arguments/process.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/timeline_figures.h"

namespace shardsim {
namespace {

// A file of that name in a new folder of this machine's own that has room for it; "" where there is none.
std::string saved_elsewhere(const std::string& path, const ValidateSource& source, const Timeline& timeline) {
  std::error_code ignored;
  for (const std::filesystem::path& root : {std::filesystem::temp_directory_path(ignored), {"/dev/shm"}}) {
    std::string folder = (root / "shardsim-kept-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) continue;
    const std::filesystem::path file = folder / std::filesystem::path(path).filename();
    try {
      save_timeline(file, source, timeline);
      return file.string();
    } catch (const Error&) {
      std::filesystem::remove(folder, ignored);
    }
  }
  return "";
}

}  // namespace

void KeptMeasurement::save(const Timeline& timeline, int rank) {
  if (!timeline.complete && timeline.spans.empty()) return;
  const std::string path = request_.output.of(rank, timeline.complete);
  try {
    write_result(path, request_.writer,
                 [&](const std::filesystem::path& hidden) { save_timeline(hidden, source_, timeline); });
  } catch (const Error& error) {
    return keep_elsewhere(timeline, path, error);
  }
  saved(path, timeline.complete);
  if (rank == 0 && path != request_.output.path && caught_signal() == 0)
    say(fmt::format("note: what was measured so far is in {}, marked as incomplete; {} is as it was", path,
                    request_.output.path));
  if (request_.trace.path.empty()) return;
  add_to_folder(request_.trace.of(rank, timeline.complete), request_.writer, [&](const std::filesystem::path& hidden) {
    write_kineto_traces(hidden, timeline, source_.program.case_name, false);
  });
}

// After `error`, for which it could not be written to `path`.
void KeptMeasurement::keep_elsewhere(const Timeline& timeline, const std::string& path, const Error& error) {
  const std::string kept = saved_elsewhere(path, source_, timeline);
  if (kept.empty() && !timeline.complete) throw error;
  if (kept.empty())
    throw Error(error.failure(), {}, error.what(), "There is no room elsewhere either, and what was measured is lost");
  saved(kept, timeline.complete);
  const std::string where = fmt::format("What was measured is kept in {}: move it to where there is room", kept);
  if (timeline.complete) throw Error(error.failure(), {}, error.what(), where);
  say(fmt::format("note: {} {}.", error.what(), where));
}

void KeptMeasurement::saved(const std::string& path, bool complete) {
  const std::lock_guard lock(mutex_);
  written_ = path;
  complete_ = complete;
}

std::string KeptMeasurement::stopped(const std::string& why) const {
  const std::lock_guard lock(mutex_);
  if (request_.check_iterations > 0) return "stopped; the data was not compared to the end.";
  const std::size_t lost = why.find("what was measured is lost");
  if (lost != std::string::npos) return "stopped, and " + why.substr(lost);
  if (complete_) return fmt::format("stopped; all was measured, and is in {}.", written_);
  if (!written_.empty())
    return fmt::format("stopped; what was measured so far is in {}, marked as incomplete{}.", written_,
                       request_.output.stays ? "; " + request_.output.path + " is as it was" : "");
  return has_root_ ? "stopped; nothing was measured, and no file was written."
                   : "stopped; what was measured so far is with rank 0.";
}

void print_measured(const Timeline& timeline, const std::string& path) {
  print_lines(
      fmt::format("{} ranks, {}, {}\n", timeline.world_size, timeline.measured.device, timeline.measured.transport));
  fmt::print("iteration: {:.3f} ms, median of {}\n\n", timeline.iteration_ms, timeline.iterations_run);
  fmt::print("{:<28} {:<14} {:>5} {:>12} {:>12}\n", "operation", "class", "calls", "time ms", "exposed ms");
  for (const NamedTime& time : named_times(timeline)) {
    fmt::print("{:<28} {:<14} {:>5} {:>12.3f} {:>12.3f}\n", printable(time.name), time.op_class, time.calls,
               time.span_ms, time.exposed_ms);
  }
  print_lines(fmt::format("\nwrote {}\n", path));
}

}  // namespace shardsim
