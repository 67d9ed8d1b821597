#include "validate/execute/kernels/parallel.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace shardsim {

void run_parts(int parts, const std::function<void(int part)>& body,
               const std::function<void(const Error& error)>& refused) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(std::max(parts, 1)));
  const auto guarded = [&](int part) {
    try {
      body(part);
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  const auto give_up = [&](const Error& why) {
    if (refused) refused(why);
    throw why;  // once those that were started have ended
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int part = 1; part < parts; ++part) others.emplace_back(guarded, part);
    } catch (const std::system_error& error) {
      give_up(system_failure(error));
    } catch (const std::bad_alloc&) {
      give_up(out_of_memory());
    }
    guarded(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void run_intervals(std::int64_t items, int parts,
                   const std::function<void(std::int64_t first, std::int64_t end)>& body) {
  const auto count = static_cast<int>(std::clamp<std::int64_t>(parts, 1, std::max<std::int64_t>(items, 1)));
  run_parts(count, [&](int part) {
    const std::int64_t first = items * part / count, end = items * (part + 1) / count;
    if (first < end) body(first, end);
  });
}

}  // namespace shardsim
