#include <fmt/core.h>

#include <cstdlib>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/microbench/kept.h"
#include "cli/microbench/runs.h"
#include "cli/microbench/untimed_pass.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/run/execute.h"
#include "validate/microbench/collective_rows.h"

namespace shardsim {
namespace {

// Measures what the rows lack, and writes them with what stands above them once all are there; what was printed.
std::string swept(Rendezvous& rendezvous, const Request& request, const ExecuteOptions& options, CollectiveRows& rows) {
  const std::vector<std::int64_t> sizes = collective_sizes(request.quick);
  const bool has_log = request.device->collectives_once != nullptr;
  const NcclLog choices = has_log ? untimed_pass(rendezvous, request) : NcclLog{};
  const auto bench = request.device->collectives != nullptr ? request.device->collectives : bench_collectives;
  std::string text = has_log ? nccl_choices_text(choices, sizes) : "";
  text += bench(rendezvous, options, sizes, rows);
  if (rendezvous.rank() != 0) return "";
  text += rows.text();
  const StopDelay together;
  write_result(request.output, request.writer, text);
  rows.remove();
  say_when_stopped("error: stopped; all was measured and is written.\n");
  return text;
}

}  // namespace

int run_collectives(const Request& request) {
  Launch launch = launch_from([](const char* name) { return std::getenv(name); }, request.port);
  if (!request.secret_file.empty()) launch.secret = secret_of_file(request.secret_file);
  if (launch.world_size < 2)
    throw input_error(Arguments::place("collectives"), "there is only one rank",
                      "Start several: torchrun, mpirun, srun, or shardsim emulate -- shardsim-microbench ...");
  ExecuteOptions options;
  options.device = request.device->name;
  options.warmup = 2;
  options.iterations = request.quick ? 5 : 20;
  options.apart = true;
  if (launch.rank == 0 && !request.untimed) check_result(request.output, request.writer);
  allow_descriptors(socket_descriptors(launch.world_size, 1, launch.rank == 0, 1));
  const auto rendezvous = Rendezvous::join(launch, request.join_limit);
  options.give_up = [](const std::string& why) { std::_Exit(report_error(1, why + ".")); };
  if (request.untimed) {
    end_with_parent();
    request.device->collectives_once(*rendezvous, options, collective_sizes(request.quick));
    rendezvous->leave();
    return 0;
  }
  CollectiveRows rows(request.output, request.quick ? "quick sweep" : "whole sweep", say_where_kept);
  options.give_up = [&rows](const std::string& why) {
    std::_Exit(report_error(1, with_where_kept(run_error(why, ""), rows.journal()).what()));
  };
  const std::string text =
      kept_once_open([&rows] { return rows.journal(); }, [&] { return swept(*rendezvous, request, options, rows); });
  rendezvous->leave();
  if (launch.rank == 0) print_lines(fmt::format("{}wrote {}\n", text, request.output));
  return 0;
}

}  // namespace shardsim
