#include "validate/execute/devices/cuda_buffers.h"

#include <algorithm>

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

std::vector<float> rows_of(const DeviceBuffer& arena, const RankRows& held, int shard) {
  const auto part = std::ranges::find(held.parts, shard, &RankRows::Part::shard);
  if (part == held.parts.end()) return {};
  std::vector<float> rows(size(part->rows * part->dim));
  cuda::check(cudaDeviceSynchronize(), "reading of rows");
  cuda::check(cudaMemcpy(rows.data(), arena.as<float>() + part->first_element, rows.size() * sizeof(float),
                         cudaMemcpyDeviceToHost),
              "reading of rows");
  return rows;
}

void put_rows(const DeviceBuffer& arena, const RankRows& held, int shard, const std::vector<float>& rows) {
  const auto part = std::ranges::find(held.parts, shard, &RankRows::Part::shard);
  if (part == held.parts.end()) return;
  cuda::check(cudaMemcpy(arena.as<float>() + part->first_element, rows.data(), rows.size() * sizeof(float),
                         cudaMemcpyHostToDevice),
              "loading of rows");
  cuda::check(cudaDeviceSynchronize(), "loading of rows");
}

}  // namespace shardsim
