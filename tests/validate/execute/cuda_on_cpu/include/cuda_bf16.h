#pragma once

#include "validate/execute/kernels/element.h"

struct __nv_bfloat16 {
  unsigned short bits;
};
inline float __bfloat162float(__nv_bfloat16 value) {
  return shardsim::widened(shardsim::Brain{value.bits});
}
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {shardsim::narrowed<shardsim::Brain>(value).bits};
}
