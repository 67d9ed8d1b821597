#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

// A unit is worth times * 10^tens * 2^twos of the base unit, so that both readings below are exact.
struct Unit {
  std::string_view name;
  int tens;
  int twos;
  int times = 1;
};

constexpr std::array kTimeUnits = {Unit{"ns", -9, 0}, Unit{"us", -6, 0}, Unit{"ms", -3, 0}, Unit{"s", 0, 0}};
// Those that people write pauses and limits in, too; times are told in the ones above.
constexpr std::array kTimesRead = {Unit{"ns", -9, 0},    Unit{"us", -6, 0},   Unit{"ms", -3, 0},     Unit{"s", 0, 0},
                                   Unit{"min", 1, 0, 6}, Unit{"h", 2, 0, 36}, Unit{"day", 2, 0, 864}};

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

// One quantity as its reader knows it: its units, and the unit that messages propose.
struct Quantity {
  std::span<const Unit> units;
  std::string_view proposed;
  std::string_view listed;  // the units, as a message names them
  std::span<const Hint> ambiguous;
};

constexpr Quantity kTime{kTimesRead, "us", "ns, us, ms, s, min, h, day", {}};
constexpr Quantity kSize{kByteUnits, "GiB", "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)",
                         kAmbiguous};
constexpr Quantity kRate{kRateUnits, "GB/s", "B/s, KB/s ... TB/s, KiB/s ... TiB/s, Kbit/s, Mbit/s, Gbit/s, Tbit/s",
                         kAmbiguous};
constexpr Quantity kFlops{kFlopsUnits, "TFLOP/s", "FLOP/s with K, M, G, T or P in front", {}};
constexpr Quantity kPercent{kShareUnits, "%", "%", {}};

// A number as written, not yet rounded to a machine number: digits * times * 10^tens * 2^twos. `times` is 1 but for
// long times, which are no whole bytes.
struct Decimal {
  std::string digits;  // without point, leading or trailing zeros; "" is zero
  std::int64_t tens = 0;
  int twos = 0;
  int times = 1;
  char sign = 0;  // as written, 0 without one
};

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

char take_sign(std::string_view& text) {
  const char sign = text.starts_with('-') || text.starts_with('+') ? text.front() : '\0';
  text.remove_prefix(sign == 0 ? 0 : 1);
  return sign;
}

// The exponent, if an "e" with digits follows. Beyond six digits it only has to stay out of range.
void take_exponent(std::string_view& text, Decimal& number) {
  if (!text.starts_with('e') && !text.starts_with('E')) return;
  std::string_view rest = text.substr(1);
  const char sign = take_sign(rest);
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) return;
  std::int64_t exponent = 0;
  for (const char digit : digits) exponent = exponent > 1'000'000 ? exponent : exponent * 10 + (digit - '0');
  number.tens += sign == '-' ? -exponent : exponent;
  text = rest;
}

// Takes "[sign] 0|[1-9][0-9]* [. digits] [e [sign] digits]" from the front of `text`. Nothing when the front is no such
// number: a leading zero, hexadecimal, "nan", "inf". The rest stays in `text`.
std::optional<Decimal> read_decimal(std::string_view& text) {
  std::string_view rest = text;
  Decimal number;
  number.sign = take_sign(rest);
  number.digits = take_digits(rest);
  if (number.digits.empty() || (number.digits.size() > 1 && number.digits.front() == '0')) return std::nullopt;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::string_view fraction = take_digits(rest);
    if (fraction.empty()) return std::nullopt;
    number.digits += fraction;
    number.tens = -static_cast<std::int64_t>(fraction.size());
  }
  take_exponent(rest, number);
  number.digits.erase(0, number.digits.find_first_not_of('0'));
  const std::size_t kept = number.digits.find_last_not_of('0') + 1;  // npos + 1 is 0
  number.tens += static_cast<std::int64_t>(number.digits.size() - kept);
  number.digits.resize(kept);
  text = rest;
  return number;
}

enum class Whole { exact, fraction, overflow };

// The number as an exact whole number below 2^63, or why not.
Whole to_whole(const Decimal& number, std::int64_t& value) {
  if (number.digits.empty()) return Whole::exact;
  const auto failure = std::from_chars(number.digits.data(), number.digits.data() + number.digits.size(), value).ec;
  if (failure != std::errc{}) return number.tens < 0 ? Whole::fraction : Whole::overflow;  // over 19 digits
  if (number.sign == '-') value = -value;
  // Divisions first, so that no product overflows on its way to a number in range. Beyond 63 steps the outcome is
  // known.
  const std::pair<int, std::int64_t> powers[] = {{5, number.tens}, {2, number.tens + number.twos}};
  for (auto [factor, times] : powers) {
    for (; times < 0; ++times) {
      if (value % factor != 0) return Whole::fraction;
      value /= factor;
    }
  }
  for (auto [factor, times] : powers) {
    for (; times > 0; --times) {
      if (__builtin_mul_overflow(value, factor, &value)) return Whole::overflow;
    }
  }
  return Whole::exact;
}

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

Decimal read(std::string_view text, const Quantity& quantity, const Place& place) {
  std::string_view rest = text;
  std::optional<Decimal> number = read_decimal(rest);
  if (!number) {
    throw input_error(place, fmt::format("{} does not start with a finite decimal number", excerpt(text)),
                      fmt::format("Write for example \"25 {}\"", quantity.proposed));
  }
  if (rest.size() > 1 && rest[0] == ',' && rest[1] >= '0' && rest[1] <= '9') {
    throw input_error(place, fmt::format("{} has a comma", excerpt(text)),
                      "Write a point before decimals, and no separators of thousands");
  }
  const std::string_view digits = text.substr(0, text.size() - rest.size());
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.empty()) {
    const std::string_view number_alone = digits.substr(0, 40);
    std::string remedy = fmt::format("Write for example \"{} {}\"", number_alone, quantity.proposed);
    // Data sheets of NICs count in bits, those of memory and NVLink in bytes.
    if (quantity.proposed == std::string_view("GB/s")) remedy += fmt::format(" or \"{} Gbit/s\"", number_alone);
    throw input_error(place, fmt::format("{} has no unit", excerpt(text)), remedy);
  }
  const Unit& unit = find_unit(text, rest, quantity, place);
  number->tens += unit.tens;
  number->twos = unit.twos;
  number->times = unit.times;
  return *number;
}

// Every size of ours is below 2^63 bytes, every other quantity a finite double: rounded once where `twos` is 0.
// `decimal`: other than zero, without "+".
double rounded(std::string_view decimal, int twos, std::string_view text, const Place& place) {
  double value = 0;
  const auto failure = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value).ec;
  value = std::ldexp(value, twos);
  if (failure == std::errc{} && std::isfinite(value) && value != 0) return value;
  throw input_error(place, excerpt(text) + " is too large or too small",
                    "Write a smaller or a larger number, or use another unit");
}

double real_value(const Decimal& number, std::string_view text, const Place& place) {
  if (number.digits.empty()) return 0;
  const std::string all = fmt::format("{}{}e{}", number.sign == '-' ? "-" : "", number.digits, number.tens);
  return number.times * rounded(all, number.twos, text, place);
}

void refuse_sign(const Decimal& number, std::string_view text, const Place& place) {
  if (number.sign == 0) return;
  throw input_error(place, excerpt(text) + " has a sign, which is not allowed here",
                    number.sign == '-' ? "Leave the - out" : "Leave the + out");
}

Bytes whole_bytes(const Decimal& number, std::string_view text, const Place& place) {
  Bytes bytes;
  const Whole whole = to_whole(number, bytes.count);
  if (whole == Whole::exact) return bytes;
  if (whole == Whole::overflow) {
    throw input_error(place, excerpt(text) + " is too large", "Sizes stay below 2^63 bytes");
  }
  throw input_error(place, excerpt(text) + " is not a whole number of bytes", "Round it, or write it in B");
}

double unsigned_real(std::string_view text, const Quantity& quantity, const Place& place) {
  const Decimal number = read(text, quantity, place);
  refuse_sign(number, text, place);
  return real_value(number, text, place);
}

double positive_real(std::string_view text, const Quantity& quantity, const Place& place) {
  const double value = unsigned_real(text, quantity, place);
  if (value > 0) return value;
  throw input_error(place, excerpt(text) + " is not above zero",
                    fmt::format("Write for example \"25 {}\"", quantity.proposed));
}

// Three significant digits, without exponent where the scale reaches.
std::string three_digits(double value) {
  return std::fabs(value) < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

double worth_of(const Unit& unit) {
  return std::ldexp(unit.times * std::pow(10.0, unit.tens), unit.twos);
}

// In the largest unit that leaves at least 1, after rounding (999.6 MB/s is 1 GB/s).
std::string scaled(double value, std::span<const Unit> ascending, double step) {
  const Unit* chosen = &ascending.front();
  while (chosen != &ascending.back() && std::fabs(value) / worth_of(*chosen) >= step - 0.5) ++chosen;
  return fmt::format("{} {}", three_digits(value / worth_of(*chosen)), chosen->name);
}

}  // namespace

std::vector<UnitName> unit_names(UnitsOf quantity) {
  const auto names = [](std::span<const Unit> units) {
    std::vector<UnitName> result;
    for (const Unit& unit : units) result.push_back({std::string(unit.name), worth_of(unit)});
    return result;
  };
  switch (quantity) {
    case UnitsOf::time:
      return names(kTimesRead);
    case UnitsOf::bytes:
      return names(kByteUnits);
    case UnitsOf::rate:
      return names(kRateUnits);
    case UnitsOf::flops:
      return names(kFlopsUnits);
  }
  return {};
}

Bytes parse_bytes(std::string_view text, const Place& place) {
  const Decimal number = read(text, kSize, place);
  refuse_sign(number, text, place);
  return whole_bytes(number, text, place);
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
  Decimal number = read(text, kPercent, place);
  number.tens += 2;
  return real_value(number, text, place);
}

std::int64_t parse_count(std::string_view text, const Place& place) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 53;
  std::string_view rest = text;
  const std::optional<Decimal> number = read_decimal(rest);
  if (!number) {
    throw input_error(place, excerpt(text) + " is not a whole number", "Write digits only, without a leading zero");
  }
  if (!rest.empty()) {
    throw input_error(place, excerpt(text) + " is not a whole number: a count has no unit",
                      "Write the digits only, for example 8 or 1e6");
  }
  refuse_sign(*number, text, place);
  std::int64_t count = 0;
  const Whole whole = to_whole(*number, count);
  if (whole == Whole::fraction) {
    throw input_error(place, excerpt(text) + " is not a whole number", "Counts have no fraction");
  }
  if (whole == Whole::overflow || count >= kLimit) {
    throw input_error(place, excerpt(text) + " is too large", "Counts stay below 2^53");
  }
  return count;
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
  // The value as it is written: tables have thousands of them.
  return number->digits.empty() ? 0 : rounded(text.substr(number->sign == '+' ? 1 : 0), 0, text, place);
}

std::string to_text(Bytes bytes) {
  constexpr std::array kBinary = {Unit{"B", 0, 0}, Unit{"KiB", 0, 10}, Unit{"MiB", 0, 20}, Unit{"GiB", 0, 30},
                                  Unit{"TiB", 0, 40}};
  return scaled(static_cast<double>(bytes.count), kBinary, 1024);
}
std::string to_text(Seconds seconds) {
  return scaled(seconds.value, kTimeUnits, 1000);
}
std::string to_text(Bandwidth rate) {
  return scaled(rate.bytes_per_second, std::span(kRateUnits).first(5), 1000);
}
std::string to_text(Flops rate) {
  return scaled(rate.per_second, kFlopsUnits, 1000);
}

}  // namespace shardsim
