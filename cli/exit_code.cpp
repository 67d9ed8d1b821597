#include "cli/exit_code.h"

#include <cstdio>
#include <filesystem>
#include <new>

#include "cli/say.h"

namespace shardsim {

int exit_code(Failure failure) {
  switch (failure) {
    case Failure::input:
      return 2;
    case Failure::infeasible:
      return 3;
    case Failure::tolerance:
      return 4;
    case Failure::run:
      break;
  }
  return 1;
}

int report_error(int code, const std::string& message) {
  say("error: " + message);
  return code;
}

namespace {

int caught(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    return report_error(exit_code(error.failure()), error.what());
  } catch (const std::bad_alloc&) {
    return report_error(1, "out of memory. Give the machine more, or the scenario fewer ranks.");
  } catch (const std::filesystem::filesystem_error& error) {
    return report_error(1, "'" + error.path1().string() + "': " + error.code().message() +
                               ". Look at the folder and its links, or name another file.");
  } catch (const std::exception& error) {
    return report_error(1, std::string("internal error: ") + error.what() + ". Please report it with the input.");
  }
}

}  // namespace

int guarded(const std::function<int()>& body) {
  const int code = caught(body);
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!lost || code != 0) return code;
  return report_error(1, "standard output: cannot write it. Is the disk full, or the reader gone?");
}

}  // namespace shardsim
