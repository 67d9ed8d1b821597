#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace shardsim {

// Names what is launched while it lives, for Nsight; nothing where NVTX was not there at build time.
class NvtxRange {
 public:
#ifdef NVTX_VERSION
  explicit NvtxRange(const char* name) {
    nvtxRangePushA(name);
  }
  ~NvtxRange() {
    nvtxRangePop();
  }
#else
  explicit NvtxRange(const char*) {}
#endif
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace shardsim
