// shardsim-cuda-check [GROUP...]: CUDA kernels against a double-precision reference on random inputs, those of the
// groups named or all. Prints "N passed, N failed"; exit 1 when something failed, 2 for an unknown group.
#include <cstdio>
#include <exception>
#include <string_view>

#include "tests/validate/execute/kernels/cuda_checks.h"

namespace {

using shardsim::CheckTally;

struct Group {
  const char* name;
  void (*check)(CheckTally& tally);
};

// "kernels" are all but the large tables, which are for no sanitizer.
constexpr Group kGroups[] = {{"lookups", shardsim::check_lookups}, {"gathers", shardsim::check_gathers},
                             {"updates", shardsim::check_updates}, {"hot_rows", shardsim::check_hot_rows},
                             {"fill", shardsim::check_fill},       {"draws", shardsim::check_draws},
                             {"work", shardsim::check_work},       {"large", shardsim::check_large_tables}};

bool is_of(const Group& group, std::string_view asked) {
  return asked == group.name || asked == "all" || (asked == "kernels" && std::string_view(group.name) != "large");
}

int usage(std::FILE* stream, int code) {
  std::fprintf(stream, "Usage: shardsim-cuda-check [all|kernels");
  for (const Group& group : kGroups) std::fprintf(stream, "|%s", group.name);
  std::fprintf(stream, "]...\n");
  return code;
}

bool run(std::string_view asked, CheckTally& tally) {
  bool known = false;
  for (const Group& group : kGroups) {
    if (!is_of(group, asked)) continue;
    known = true;
    try {
      group.check(tally);
    } catch (const std::exception& error) {
      tally.record(std::string(group.name) + " run to their end", error.what());
    }
  }
  return known;
}

}  // namespace

int main(int count, char** values) {
  CheckTally tally;
  for (int i = 1; i < count; ++i) {
    if (std::string_view(values[i]) == "--help") return usage(stdout, 0);
    if (!run(values[i], tally)) return usage(stderr, 2);
  }
  if (count == 1) run("all", tally);
  std::printf("%d passed, %d failed\n", tally.passed(), tally.failed());
  return tally.failed() == 0 && tally.passed() > 0 ? 0 : 1;
}
