#include "validate/execute/devices/checked_data.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);
constexpr std::int64_t kCheckedAtOnce = std::int64_t{64} << 20;  // bytes that a check holds of what it loads

// Neighbours among rising numbers in [first, first + count), each run as (its first less `first`, its length); null:
// all.
template <typename Visit>
void visit_runs(const Numbers* numbers, std::int64_t first, std::int64_t count, const Visit& visit) {
  if (numbers == nullptr) return visit(0, count);
  auto at = std::ranges::lower_bound(*numbers, first);
  while (at != numbers->end() && *at < first + count) {
    auto end = at + 1;
    while (end != numbers->end() && *end < first + count && *end == *(end - 1) + 1) ++end;
    visit(*at - first, end - at);
    at = end;
  }
}

// Sets those elements of all vectors that lie in a part of the wire, which begins at element `from`.
void fill_wire(const std::vector<ReturnedVectors>& returned, std::int64_t from, const ValueAt& value,
               std::vector<float>& wire) {
  const std::int64_t end = from + static_cast<std::int64_t>(wire.size());
  std::int64_t first = 0;
  for (const ReturnedVectors& of : returned) {
    const std::int64_t step = std::max<std::int64_t>(of.stride, 1);
    const std::int64_t lowest = std::max<std::int64_t>(0, (from - of.first - of.dim) / step);
    for (std::int64_t bag = lowest; bag < of.bags && of.first + bag * of.stride < end; ++bag) {
      const std::int64_t at = of.first + bag * of.stride;
      for (std::int64_t c = std::max<std::int64_t>(0, from - at); c < of.dim && at + c < end; ++c) {
        wire[static_cast<std::size_t>(at + c - from)] = value(first + bag, c);
      }
    }
    first += of.bags;
  }
}

}  // namespace

std::vector<float> downloaded_vectors(DevicePort& device, const DeviceMemory& memory, std::int64_t begin,
                                      const std::vector<ReturnedVectors>& returned, const Numbers* vectors) {
  std::vector<float> values;
  std::int64_t first = 0;
  for (const ReturnedVectors& of : returned) {
    visit_runs(vectors, first, of.bags, [&](std::int64_t bag, std::int64_t bags) {
      const bool together = of.stride == of.dim;
      for (std::int64_t i = 0; i < bags; i += together ? bags : 1) {
        const std::int64_t count = (together ? bags : 1) * of.dim, at = begin + of.first + (bag + i) * of.stride;
        values.resize(values.size() + static_cast<std::size_t>(count));
        device.download(values.data() + values.size() - count, memory.at(at * kFloatBytes), count * kFloatBytes);
      }
    });
    first += of.bags;
  }
  return values;
}

void upload_vectors(DevicePort& device, const DeviceMemory& memory, std::int64_t begin,
                    const std::vector<ReturnedVectors>& returned, const ValueAt& value) {
  const std::int64_t end = memory.bytes() / kFloatBytes, at_once = kCheckedAtOnce / kFloatBytes;
  for (std::int64_t from = begin; from < end; from += at_once) {
    std::vector<float> wire(static_cast<std::size_t>(std::min(at_once, end - from)));
    const auto bytes = static_cast<std::int64_t>(wire.size()) * kFloatBytes;
    device.download(wire.data(), memory.at(from * kFloatBytes), bytes);
    fill_wire(returned, from - begin, value, wire);
    device.upload(memory.at(from * kFloatBytes), wire.data(), bytes);
  }
}

std::vector<float> downloaded_rows(DevicePort& device, const DeviceMemory& arena, const RankRows::Part& part,
                                   const Numbers* rows) {
  std::vector<float> values;
  visit_runs(rows, 0, part.rows, [&](std::int64_t row, std::int64_t count) {
    const std::int64_t elements = count * part.dim;
    values.resize(values.size() + static_cast<std::size_t>(elements));
    device.download(values.data() + values.size() - elements,
                    arena.at((part.first_element + row * part.dim) * kFloatBytes), elements * kFloatBytes);
  });
  return values;
}

void upload_rows(DevicePort& device, const DeviceMemory& arena, const RankRows::Part& part, const ValueAt& value) {
  const std::int64_t at_once = std::max<std::int64_t>(1, kCheckedAtOnce / (part.dim * kFloatBytes));
  std::vector<float> values;
  for (std::int64_t row = 0; row < part.rows; row += at_once) {
    const std::int64_t end = std::min(row + at_once, part.rows);
    values.clear();
    for (std::int64_t each = row; each < end; ++each) {
      for (std::int64_t c = 0; c < part.dim; ++c) values.push_back(value(each, c));
    }
    device.upload(arena.at((part.first_element + row * part.dim) * kFloatBytes), values.data(),
                  static_cast<std::int64_t>(values.size()) * kFloatBytes);
  }
}

}  // namespace shardsim
