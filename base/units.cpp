#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

// A unit is worth 10^tens * 2^twos of the base unit, so that both readings below are exact.
struct Unit {
  std::string_view name;
  int tens;
  int twos;
};

constexpr std::array kTimeUnits = {Unit{"ns", -9, 0}, Unit{"us", -6, 0}, Unit{"ms", -3, 0}, Unit{"s", 0, 0}};

constexpr std::array kByteUnits = {Unit{"B", 0, 0},    Unit{"KB", 3, 0},   Unit{"MB", 6, 0},
                                   Unit{"GB", 9, 0},   Unit{"TB", 12, 0},  Unit{"KiB", 0, 10},
                                   Unit{"MiB", 0, 20}, Unit{"GiB", 0, 30}, Unit{"TiB", 0, 40}};

constexpr std::array kRateUnits = {
    Unit{"B/s", 0, 0},     Unit{"KB/s", 3, 0},    Unit{"MB/s", 6, 0},     Unit{"GB/s", 9, 0},   Unit{"TB/s", 12, 0},
    Unit{"KiB/s", 0, 10},  Unit{"MiB/s", 0, 20},  Unit{"GiB/s", 0, 30},   Unit{"TiB/s", 0, 40}, Unit{"Kbit/s", 3, -3},
    Unit{"Mbit/s", 6, -3}, Unit{"Gbit/s", 9, -3}, Unit{"Tbit/s", 12, -3}, Unit{"Kbit", 3, -3},  Unit{"Mbit", 6, -3},
    Unit{"Gbit", 9, -3},   Unit{"Tbit", 12, -3}};

constexpr std::array kFlopsUnits = {Unit{"FLOP/s", 0, 0},  Unit{"KFLOP/s", 3, 0},  Unit{"MFLOP/s", 6, 0},
                                    Unit{"GFLOP/s", 9, 0}, Unit{"TFLOP/s", 12, 0}, Unit{"PFLOP/s", 15, 0}};

constexpr std::array kShareUnits = {Unit{"%", -2, 0}};

struct Hint {
  std::string_view written;
  std::string_view advice;
};

// Spellings that mean different things to different people; the advice names what we would have to guess.
constexpr std::array kAmbiguous = {
    Hint{"Gb/s", "Write Gbit/s for bits or GB/s for bytes"},
    Hint{"Mb/s", "Write Mbit/s for bits or MB/s for bytes"},
    Hint{"Kb/s", "Write Kbit/s for bits or KB/s for bytes"},
    Hint{"Tb/s", "Write Tbit/s for bits or TB/s for bytes"},
    Hint{"Gbps", "Write Gbit/s"},
    Hint{"Mbps", "Write Mbit/s"},
    Hint{"GBps", "Write GB/s"},
    Hint{"MBps", "Write MB/s"},
    Hint{"K", "Write KB (1000 bytes) or KiB (1024 bytes), with /s for a rate"},
    Hint{"M", "Write MB (1000^2 bytes) or MiB (1024^2 bytes), with /s for a rate"},
    Hint{"G", "Write GB (1000^3 bytes) or GiB (1024^3 bytes), with /s for a rate"},
    Hint{"T", "Write TB (1000^4 bytes) or TiB (1024^4 bytes), with /s for a rate"},
    Hint{"kB", "Write KB (1000 bytes) or KiB (1024 bytes)"},
    Hint{"kB/s", "Write KB/s (1000 bytes) or KiB/s (1024 bytes)"},
    Hint{"kb/s", "Write Kbit/s for bits or KB/s for bytes"},
    Hint{"MBit", "Write Mbit/s for bits or MB/s for bytes"},
    Hint{"GBit", "Write Gbit/s for bits or GB/s for bytes"},
    Hint{"MBit/s", "Write Mbit/s for bits or MB/s for bytes"},
    Hint{"GBit/s", "Write Gbit/s for bits or GB/s for bytes"},
};

// What a reader of one quantity knows: its units, and the unit that its messages propose.
struct Quantity {
  std::span<const Unit> units;
  std::string_view proposed;
  std::string_view listed;  // the units, as a message names them
  std::span<const Hint> ambiguous;
};

constexpr Quantity kTime{kTimeUnits, "us", "ns, us, ms, s", {}};
constexpr Quantity kSize{kByteUnits, "GiB", "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)",
                         kAmbiguous};
constexpr Quantity kRate{kRateUnits, "GB/s", "B/s, KB/s ... TB/s, KiB/s ... TiB/s, Kbit/s, Mbit/s, Gbit/s, Tbit/s",
                         kAmbiguous};
constexpr Quantity kFlops{kFlopsUnits, "TFLOP/s", "FLOP/s with K, M, G, T or P in front", {}};
constexpr Quantity kPercent{kShareUnits, "%", "%", {}};

struct Measured {
  Decimal number;
  Unit unit;
};

std::string advice_for(std::string_view unit, const Quantity& quantity) {
  for (const Hint& hint : quantity.ambiguous) {
    if (hint.written == unit) return std::string(hint.advice);
  }
  std::vector<std::string> names;
  for (const Unit& known : quantity.units) names.emplace_back(known.name);
  const std::string near = unit.size() > 8 ? "" : nearest(unit, names);
  return near.empty() ? fmt::format("Known units: {}", quantity.listed)
                      : fmt::format("Did you mean {}? Known units: {}", near, quantity.listed);
}

const Unit& find_unit(std::string_view text, std::string_view unit, const Quantity& quantity, const Place& place) {
  for (const Unit& known : quantity.units) {
    if (known.name == unit) return known;
  }
  throw input_error(place, fmt::format("{} has an unknown or ambiguous unit", excerpt(text)),
                    advice_for(unit, quantity));
}

Measured read(std::string_view text, const Quantity& quantity, const Place& place) {
  std::string_view rest = text;
  const std::optional<Decimal> number = read_decimal(rest);
  if (!number) {
    throw input_error(place, fmt::format("{} does not start with a finite decimal number", excerpt(text)),
                      fmt::format("Write for example \"25 {}\"", quantity.proposed));
  }
  const std::string_view digits = text.substr(0, text.size() - rest.size());
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.empty()) {
    throw input_error(place, fmt::format("{} has no unit", excerpt(text)),
                      fmt::format("Write for example \"{} {}\"", digits.substr(0, 40), quantity.proposed));
  }
  return {*number, find_unit(text, rest, quantity, place)};
}

// Every size of ours is below 2^63 bytes, every other quantity a finite double.
double real_value(const Measured& measured, std::string_view text, const Place& place) {
  const std::optional<double> value = to_double(measured.number, measured.unit.tens, measured.unit.twos);
  if (!value) throw input_error(place, excerpt(text) + " is too large or too small", "Write a number within reach");
  return *value;
}

void refuse_sign(const Decimal& number, std::string_view text, const Place& place) {
  if (!number.has_sign) return;
  throw input_error(place, excerpt(text) + " has a sign, which is not allowed here",
                    number.negative ? "Write 0 or more" : "Leave the + out");
}

Bytes whole_bytes(const Measured& measured, std::string_view text, const Place& place) {
  const Whole whole = to_whole(measured.number, measured.unit.tens, measured.unit.twos);
  if (whole.outcome == Whole::Outcome::fraction) {
    throw input_error(place, excerpt(text) + " is not a whole number of bytes", "Round it, or write it in B");
  }
  if (whole.outcome == Whole::Outcome::overflow) {
    throw input_error(place, excerpt(text) + " is too large", "Sizes stay below 2^63 bytes");
  }
  return {whole.value};
}

double unsigned_real(std::string_view text, const Quantity& quantity, const Place& place) {
  const Measured measured = read(text, quantity, place);
  refuse_sign(measured.number, text, place);
  return real_value(measured, text, place);
}

double positive_real(std::string_view text, const Quantity& quantity, const Place& place) {
  const double value = unsigned_real(text, quantity, place);
  if (value > 0) return value;
  throw input_error(place, excerpt(text) + " is not above zero",
                    fmt::format("Write for example \"25 {}\"", quantity.proposed));
}

struct Scale {
  std::string_view name;
  double factor;
};

// Three significant digits, without exponent where the scale reaches.
std::string three_digits(double value) {
  return std::fabs(value) < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

// In the largest scale that leaves at least 1, after rounding (999.6 MB/s is 1 GB/s).
std::string scaled(double value, std::span<const Scale> ascending, double step) {
  const double size = std::fabs(value);
  std::size_t chosen = 0;
  while (chosen + 1 < ascending.size() && size / ascending[chosen].factor >= step - 0.5) ++chosen;
  return fmt::format("{} {}", three_digits(value / ascending[chosen].factor), ascending[chosen].name);
}

constexpr std::array kByteScales = {Scale{"B", 1.0}, Scale{"KiB", 0x1p10}, Scale{"MiB", 0x1p20}, Scale{"GiB", 0x1p30},
                                    Scale{"TiB", 0x1p40}};
constexpr std::array kTimeScales = {Scale{"ns", 1e-9}, Scale{"us", 1e-6}, Scale{"ms", 1e-3}, Scale{"s", 1.0}};
constexpr std::array kRateScales = {Scale{"B/s", 1.0}, Scale{"KB/s", 1e3}, Scale{"MB/s", 1e6}, Scale{"GB/s", 1e9},
                                    Scale{"TB/s", 1e12}};
constexpr std::array kFlopsScales = {Scale{"FLOP/s", 1.0},  Scale{"KFLOP/s", 1e3},  Scale{"MFLOP/s", 1e6},
                                     Scale{"GFLOP/s", 1e9}, Scale{"TFLOP/s", 1e12}, Scale{"PFLOP/s", 1e15}};

}  // namespace

Bytes parse_bytes(std::string_view text, const Place& place) {
  const Measured measured = read(text, kSize, place);
  refuse_sign(measured.number, text, place);
  return whole_bytes(measured, text, place);
}

Bytes parse_signed_bytes(std::string_view text, const Place& place) {
  return whole_bytes(read(text, kSize, place), text, place);
}

Seconds parse_seconds(std::string_view text, const Place& place) {
  return {unsigned_real(text, kTime, place)};
}

Bandwidth parse_bandwidth(std::string_view text, const Place& place) {
  return {positive_real(text, kRate, place)};
}

Flops parse_flops(std::string_view text, const Place& place) {
  return {positive_real(text, kFlops, place)};
}

double parse_share(std::string_view text, const Place& place) {
  const double share = text.ends_with('%') ? unsigned_real(text, kPercent, place) : parse_real(text, place);
  if (share >= 0 && share <= 1) return share;
  throw input_error(place, excerpt(text) + " is not a share from 0 to 1", "Write for example 0.6 or \"60 %\"");
}

double parse_percent(std::string_view text, const Place& place) {
  Measured measured = read(text, kPercent, place);
  measured.unit.tens = 0;
  return real_value(measured, text, place);
}

std::int64_t parse_count(std::string_view text, const Place& place) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 53;
  std::string_view rest = text;
  const std::optional<Decimal> number = read_decimal(rest);
  if (!number || (number->has_point && !number->has_exponent)) {
    throw input_error(place, excerpt(text) + " is not a whole number", "Write digits only, without a leading zero");
  }
  if (!rest.empty()) {
    throw input_error(place, excerpt(text) + " is not a whole number: a count has no unit",
                      "Write the digits only, for example 8 or 1e6");
  }
  refuse_sign(*number, text, place);
  const Whole whole = to_whole(*number, 0, 0);
  if (whole.outcome == Whole::Outcome::fraction) {
    throw input_error(place, excerpt(text) + " is not a whole number", "Counts have no fraction");
  }
  if (whole.outcome == Whole::Outcome::overflow || whole.value >= kLimit) {
    throw input_error(place, excerpt(text) + " is too large", "Counts stay below 2^53");
  }
  return whole.value;
}

double parse_real(std::string_view text, const Place& place) {
  std::string_view rest = text;
  const std::optional<Decimal> number = read_decimal(rest);
  if (!number) {
    throw input_error(place, excerpt(text) + " is not a finite decimal number", "Write for example 0.5 or 1e-3");
  }
  if (!rest.empty()) {
    throw input_error(place, fmt::format("{} is not a plain number: it ends in {}", excerpt(text), excerpt(rest)),
                      "This value has no unit");
  }
  return real_value({*number, {"", 0, 0}}, text, place);
}

std::string to_text(Bytes bytes) {
  return scaled(static_cast<double>(bytes.count), kByteScales, 1024);
}
std::string to_text(Seconds seconds) {
  return scaled(seconds.value, kTimeScales, 1000);
}
std::string to_text(Bandwidth rate) {
  return scaled(rate.bytes_per_second, kRateScales, 1000);
}
std::string to_text(Flops rate) {
  return scaled(rate.per_second, kFlopsScales, 1000);
}

}  // namespace shardsim
