#include "cli/arguments/measuring.h"

#include <algorithm>
#include <thread>

#include "base/error.h"

namespace shardsim {

void refuse_empty(const Arguments& given, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (given.has(name) && given.text(name).empty())
      throw input_error(Arguments::place(name), "the value is empty",
                        "Give one, or leave the option out; is a variable of a script not set?");
}

std::int64_t most_threads() {
  constexpr std::int64_t kPerProcessor = 4, kOnSmall = 64;
  return std::max(kOnSmall, kPerProcessor * static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

}  // namespace shardsim
