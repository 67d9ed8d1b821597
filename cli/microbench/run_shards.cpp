#include <fmt/core.h>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "cli/arguments/progress.h"
#include "cli/microbench/kept.h"
#include "cli/microbench/request.h"
#include "models/access/row_hash.h"
#include "models/learned/label_file.h"

namespace shardsim {
namespace {

// Whose times these are, and how they were taken: what labels of one set have in common.
std::string labelled_device(const BenchDevice& device, const ShardOptions& options) {
  std::string text = device.facts().name;
  if (device.facts().num_gpus == 0) text += ", " + counted(static_cast<std::size_t>(device.facts().threads), "thread");
  return text + (options.warm ? ", warm caches" : "");
}

ShardSet shards_of(const std::string& path) {
  LabelFile file = read_label_file(path);
  if (auto* const set = std::get_if<ShardSet>(&file)) return std::move(*set);
  throw input_error({path}, "it holds exchanges, not shards", "Draw shards: shardsim cost-model sample");
}

// Refuses labels that somebody else gave.
void claim_labels(ShardSet& set, const std::string& path, const std::string& provider, const std::string& device) {
  if (set.provider.empty()) set.labels.assign(set.shards.size(), {});
  if (!set.provider.empty() && (set.provider != provider || set.device != device))
    throw input_error({path}, fmt::format("it has labels already, by {} of {}", set.provider, excerpt(set.device)),
                      "Measure the file without labels: labels of different providers or devices are never mixed");
  set.provider = provider;
  set.device = device;
}

}  // namespace

int run_shards(const Request& request, const Terminal&) {
  check_result(request.output, request.writer);
  ShardSet set = shards_of(request.shards);
  const std::uint64_t hash = fnv1a(read_file(request.shards));
  const std::unique_ptr<BenchDevice> device = request.device->make(request.threads);
  const ShardOptions& options = request.shard_options;
  claim_labels(set, request.shards, std::string(request.device->name), labelled_device(*device, options));
  check_shards(*device, set);
  std::vector<VisitedShard> visited(set.shards.size());
  ShardJournal journal(
      request.output,
      fmt::format("{}; shards {:016x}; {}; seed {}; {} visits; {} repetitions; {} warm-ups; {} s",
                  journal_origin(device_identity(device->facts())), hash, options.warm ? "warm" : "flushed",
                  options.seed, options.visits, options.repetitions, options.warmup, options.seconds),
      visited);
  Progress progress("", request.quiet);
  const ShardWatch watch{[&](std::size_t done, std::size_t all) {
                           progress.count("visits", static_cast<std::int64_t>(done), static_cast<std::int64_t>(all));
                         },
                         {},
                         [&](std::size_t shard, const ShardSeconds& visit) { journal.add(shard, visit); }};
  kept(journal.journal(), [&] {
    measure_shards(*device, set, visited, options, watch);
    progress.clear();
    const StopDelay together;
    write_result(request.output, request.writer, label_file_text(set));
    journal.remove();
    say_when_stopped("error: stopped; all was measured and is written.\n");
  });
  fmt::print("{}: {} measured\n", set.device, counted(set.shards.size(), "shard"));
  return 0;
}

}  // namespace shardsim
