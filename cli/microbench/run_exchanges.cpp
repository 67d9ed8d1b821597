#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/arguments/progress.h"
#include "cli/microbench/kept.h"
#include "cli/microbench/request.h"
#include "models/access/row_hash.h"
#include "models/learned/label_file.h"
#include "validate/execute/meet/layout.h"
#include "validate/execute/meet/secret.h"
#include "validate/microbench/exchange_bench.h"

namespace shardsim {
namespace {

ExchangeSet exchanges_of(const std::string& path, int ranks) {
  LabelFile file = read_label_file(path);
  auto* const set = std::get_if<ExchangeSet>(&file);
  if (set == nullptr)
    throw input_error({path}, "it holds shards, not exchanges",
                      fmt::format("Draw exchanges: shardsim cost-model sample --exchanges {}", ranks));
  check_exchanges(*set, ranks);
  return std::move(*set);
}

// As `shardsim cost-model label` writes it (models/learned/exchange_inputs.h).
std::string topology_text(const Request& request, const Launch& launch) {
  const std::string name = request.cluster.empty() ? host_name() : request.cluster;
  const int nodes = (launch.world_size + launch.local_size - 1) / launch.local_size;
  return nodes == 1 ? name : fmt::format("{} of {} nodes", name, nodes);
}

void write_labels(const ExchangeSet& set, const Request& request, ExchangeRows& rows) {
  const StopDelay together;
  write_result(request.output, request.writer, label_file_text(set));
  rows.remove();
  say_when_stopped("error: stopped; all was measured and is written.\n");
}

}  // namespace

int run_exchanges(const Request& request, const Terminal&) {
  Launch launch = launch_from([](const char* name) { return std::getenv(name); }, request.port);
  if (!request.secret_file.empty()) launch.secret = secret_of_file(request.secret_file);
  ExchangeSet set = exchanges_of(request.exchanges, launch.world_size);
  set.provider = request.device->name;
  set.topology = topology_text(request, launch);
  const bool root = launch.rank == 0;
  if (root) check_result(request.output, request.writer);
  ExecuteOptions options;
  options.device = request.device->name;
  const int visits = request.shard_options.visits;
  allow_descriptors(socket_descriptors(launch.world_size, 1, root, 1));
  const auto rendezvous = Rendezvous::join(launch, request.join_limit);
  ExchangeRows rows(
      set, request.output,
      fmt::format("exchanges {:016x}; {} visits; {}", fnv1a(read_file(request.exchanges)), visits, set.topology),
      say_where_kept);
  options.give_up = [&rows](const std::string& why) {
    std::_Exit(report_error(1, with_where_kept(run_error(why, ""), rows.journal()).what()));
  };
  Progress progress("", !root || request.quiet);
  kept_once_open([&rows] { return rows.journal(); },
                 [&] {
                   measure_exchanges(*rendezvous, options, set, visits, rows, [&](std::size_t done) {
                     progress.count("exchanges", static_cast<std::int64_t>(done),
                                    static_cast<std::int64_t>(set.exchanges.size()));
                   });
                   progress.clear();
                   if (root) write_labels(set, request, rows);
                   return 0;
                 });
  rendezvous->leave();
  if (root) fmt::print("{}: {} measured\n", set.device, counted(set.exchanges.size(), "exchange"));
  return 0;
}

}  // namespace shardsim
