#include "cli/arguments/process.h"
#include "cli/microbench/request.h"

namespace {

using namespace shardsim;

int bench(const Arguments& given, const Terminal& terminal) {
  const Request request = request_of(given);
  if (request.collectives) return run_collectives(request);
  if (!request.exchanges.empty()) return run_exchanges(request, terminal);
  if (!request.shards.empty()) return run_shards(request, terminal);
  return run_sweep(request, terminal);
}

Command microbench_program() {
  return {
      .name = "shardsim-microbench",
      .summary = "time embedding kernels and matrix products on this machine",
      .options = microbench_options(),
      .examples = {"shardsim-microbench --device cpu --quick -o out/measured.json",
                   "shardsim-microbench --device cpu --quick --threads 1 -o out/measured.json --csv out/measured.csv"},
      .run = bench};
}

}  // namespace

int main(int count, char** values) {
  on_stop_signals(OnStop::ends);
  return guarded([&] { return run_program(microbench_program(), {values + 1, values + count}, look_at_terminal()); });
}
