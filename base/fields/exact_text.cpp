#include "base/fields/exact_text.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

// value * up / down is the number in this unit; powers of ten from 1 up are exact as doubles, those below are not.
struct ExactUnit {
  std::string_view name;
  double up = 1;
  double down = 1;
};

// `value` in the largest unit that it fills and that reads back exactly, else in the last, which always does. Units
// from large to small.
template <typename Parse, std::size_t n>
std::string in_exact_unit(double value, const std::array<ExactUnit, n>& units, Parse parse) {
  for (const ExactUnit& unit : units) {
    const double scaled = value * unit.up / unit.down;
    if (scaled < 1) continue;
    // Scaling may leave a last digit that reading does not need.
    for (const std::string& number : {fmt::format("{:.15g}", scaled), shortest(scaled)}) {
      const std::string text = fmt::format("{} {}", number, unit.name);
      if (parse(text) == value) return text;
    }
  }
  return fmt::format("{} {}", shortest(value), units.back().name);
}

const Place kNowhere{"a written file"};

}  // namespace

std::string exact_text(Bytes bytes) {
  for (int shift = 40; shift > 0; shift -= 10) {
    constexpr std::array<std::string_view, 4> kNames = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes.count == 0 || bytes.count % (std::int64_t{1} << shift) != 0) continue;
    return fmt::format("{} {}", bytes.count >> shift, kNames.at(static_cast<std::size_t>(shift / 10 - 1)));
  }
  return fmt::format("{} B", bytes.count);
}

std::string exact_text(Seconds time) {
  constexpr std::array<ExactUnit, 5> kUnits = {{{"s"}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}, {"s"}}};
  if (time.value == 0) return "0 s";
  return in_exact_unit(time.value, kUnits, [](const std::string& text) { return parse_seconds(text, kNowhere).value; });
}

std::string exact_text(Bandwidth rate) {
  constexpr std::array<ExactUnit, 3> kUnits = {{{"GB/s", 1, 1e9}, {"MB/s", 1, 1e6}, {"B/s"}}};
  return in_exact_unit(rate.bytes_per_second, kUnits,
                       [](const std::string& text) { return parse_bandwidth(text, kNowhere).bytes_per_second; });
}

std::string exact_text(Flops rate) {
  constexpr std::array<ExactUnit, 2> kUnits = {{{"TFLOP/s", 1, 1e12}, {"FLOP/s"}}};
  return in_exact_unit(rate.per_second, kUnits,
                       [](const std::string& text) { return parse_flops(text, kNowhere).per_second; });
}

}  // namespace shardsim
