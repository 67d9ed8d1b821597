#include "base/version.h"

namespace shardsim {

std::string version() {
  return SHARDSIM_VERSION;
}

}  // namespace shardsim
