#include "validate/execute/machines/cuda_buffers.h"

namespace shardsim {

using cuda::DeviceBuffer;

namespace {

DeviceBuffer floats(std::int64_t bytes, const char* what) {
  return {size(bytes + 3) / 4 * 4, what};
}

}  // namespace

DeviceBuffer cleared(std::int64_t bytes, const char* what) {
  DeviceBuffer buffer = floats(bytes, what);
  buffer.clear();
  return buffer;
}

DeviceBuffer half_everywhere(std::int64_t bytes, const char* what) {
  DeviceBuffer buffer = floats(bytes, what);
  const std::vector<float> values(buffer.bytes() / sizeof(float), 0.5F);
  buffer.upload(values.data(), buffer.bytes());
  return buffer;
}

DeviceBuffer uploaded(const std::vector<std::int64_t>& values, const char* what) {
  DeviceBuffer buffer(values.size() * sizeof(std::int64_t), what);
  buffer.upload(values.data(), buffer.bytes());
  return buffer;
}

}  // namespace shardsim
