#include "validate/execute/meet/wake_up.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "base/error.h"

namespace shardsim {

WakeUp::WakeUp() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_.open())
    throw run_error("no event descriptor: " + error_text(errno), "Raise the limit of open files (ulimit -n)");
}

void WakeUp::raise() {
  eventfd_write(event_.fd(), 1);
}

void WakeUp::clear() {
  eventfd_t value = 0;
  eventfd_read(event_.fd(), &value);
}

}  // namespace shardsim
