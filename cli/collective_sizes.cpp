#include "cli/collective_sizes.h"

#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostSizes = 1000;
constexpr const char* kHow =
    "Write START:END:xFACTOR, START:END:+STEP, or sizes with commas between, e.g. 1KiB:1GiB:x2";

// Sizes of messages are as often in bytes as not, so a bare number is not taken for GiB.
std::int64_t one_size(const std::string& text, const Place& place) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    throw input_error(place, excerpt(text) + " has no unit", "Write " + excerpt(text + " B") + ", or KiB, MiB or GiB");
  const std::int64_t bytes = parse_bytes(text, place).count;
  if (bytes == 0) throw input_error(place, "a size of 0 bytes", "Give 1 B or more");
  return bytes;
}

// The next size, 0 beyond what can be counted.
std::int64_t next_size(std::int64_t size, double factor, std::int64_t step) {
  if (factor == 0) return size > std::numeric_limits<std::int64_t>::max() - step ? 0 : size + step;
  const double next = std::floor(static_cast<double>(size) * factor);
  if (next >= 0x1.0p63) return 0;
  return std::max(size + 1, static_cast<std::int64_t>(next));
}

std::vector<std::int64_t> size_range(const std::vector<std::string>& parts, const Place& place) {
  const std::int64_t first = one_size(parts[0], place), last = one_size(parts[1], place);
  if (last < first) throw input_error(place, "the range ends before it starts", kHow);
  const std::string& by = parts[2];
  if (by.size() < 2 || (by[0] != 'x' && by[0] != '+')) throw input_error(place, excerpt(by) + " is no step", kHow);
  const double factor = by[0] == 'x' ? parse_real(by.substr(1), place) : 0;
  const std::int64_t step = by[0] == '+' ? one_size(by.substr(1), place) : 0;
  if (by[0] == 'x' && !(factor > 1)) throw input_error(place, "a factor of 1 or less goes nowhere", kHow);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first; size > 0 && size <= last && sizes.size() <= kMostSizes;
       size = next_size(size, factor, step))
    sizes.push_back(size);
  return sizes;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& text, const Place& place) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 2 || parts.size() > 3) throw input_error(place, excerpt(text) + " is no range of sizes", kHow);
  std::vector<std::int64_t> sizes;
  if (parts.size() == 3) {
    sizes = size_range(parts, place);
  } else {
    for (const std::string& part : split(text, ',')) sizes.push_back(one_size(part, place));
  }
  if (sizes.size() > kMostSizes) throw input_error(place, "more than 1,000 sizes", "Take a larger step");
  return sizes;
}

std::int64_t cell_bytes(const std::string& text, const Place& place) {
  return text.find_first_of("KMGTBib") == std::string::npos ? parse_count(text, place) : parse_bytes(text, place).count;
}

}  // namespace shardsim
