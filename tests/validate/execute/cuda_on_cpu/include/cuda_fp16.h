#pragma once

#include "validate/execute/kernels/element.h"

struct __half {
  unsigned short bits;
};
inline float __half2float(__half value) {
  return shardsim::widened(shardsim::Half{value.bits});
}
inline __half __float2half_rn(float value) {
  return {shardsim::narrowed<shardsim::Half>(value).bits};
}
