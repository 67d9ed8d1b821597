#include "base/system_failure.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <string>

namespace shardsim {

// Nothing in the handler allocates: the line is made beforehand.
void end_where_memory_lacks_anywhere() {
  static const std::string line = "error: " + std::string(out_of_memory().what()) + "\n";
  static const std::terminate_handler before = std::get_terminate();
  std::set_terminate([] {
    try {
      if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      static std::atomic_flag said;
      while (said.test_and_set()) ::pause();  // another thread is ending the process
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
      ::_exit(1);
    } catch (...) {  // a fault of ours
    }
    before();
  });
}

}  // namespace shardsim
