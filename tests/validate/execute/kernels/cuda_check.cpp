// shardsim-cuda-check: every CUDA kernel against a double-precision reference on random inputs. Prints
// "N passed, N failed"; exit 1 when something failed.
#include <cstdio>
#include <exception>

#include "tests/validate/execute/kernels/cuda_checks.h"

int main() {
  using namespace shardsim;
  CheckTally tally;
  try {
    check_lookups(tally);
    check_gathers(tally);
    check_updates(tally);
    check_hot_rows(tally);
    check_fill(tally);
    check_work(tally);
  } catch (const std::exception& error) {
    tally.record("all checks run to their end", error.what());
  }
  std::printf("%d passed, %d failed\n", tally.passed(), tally.failed());
  return tally.failed() == 0 && tally.passed() > 0 ? 0 : 1;
}
