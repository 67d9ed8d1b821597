#include <fmt/core.h>

#include <cstdlib>

#include "base/files.h"
#include "base/result_folder.h"
#include "cli/arguments/arguments.h"
#include "cli/microbench/runs.h"
#include "cli/microbench/untimed_pass.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

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
  if (launch.rank == 0 && !request.untimed) check_writable(request.output);
  allow_descriptors(socket_descriptors(launch.world_size, 1, launch.rank == 0, 1));
  const auto rendezvous = Rendezvous::join(launch, request.join_limit);
  options.give_up = [](const std::string& why) { std::_Exit(report_error(1, why + ".")); };
  if (request.untimed) {
    end_with_parent();
    request.device->collectives_once(*rendezvous, options, collective_sizes(request.quick));
    rendezvous->leave();
    return 0;
  }
  const bool has_log = request.device->collectives_once != nullptr;
  const NcclLog choices = has_log ? untimed_pass(*rendezvous, request) : NcclLog{};
  const auto bench = request.device->collectives != nullptr ? request.device->collectives : bench_collectives;
  std::string text = bench(*rendezvous, options, collective_sizes(request.quick));
  if (has_log) text = nccl_choices_text(choices, collective_sizes(request.quick)) + text;
  if (launch.rank == 0) write_file(request.output, text);
  rendezvous->leave();
  if (launch.rank == 0) fmt::print("{}wrote {}\n", text, request.output);
  return 0;
}

}  // namespace shardsim
