#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

struct Place;

// Strong types for the four quantities of the project. Text carries its unit ("25 GB/s", "3 us", "40 GiB"); a bare
// number where a unit is due is an error. GB is 10^9 bytes, GiB 2^30 bytes.

inline constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
inline constexpr double kMostExactBytes = 0x1.0p53;  // sums of whole bytes are exact in a double up to here

struct Bytes {
  std::int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

struct Seconds {
  double value = 0;
  auto operator<=>(const Seconds&) const = default;
  double ms() const { return value * 1e3; }
  double us() const { return value * 1e6; }
};

struct Bandwidth {
  double bytes_per_second = 0;
  auto operator<=>(const Bandwidth&) const = default;
};

struct Flops {
  double per_second = 0;
  auto operator<=>(const Flops&) const = default;
};

constexpr Seconds operator+(Seconds a, Seconds b) {
  return {a.value + b.value};
}
constexpr Seconds operator-(Seconds a, Seconds b) {
  return {a.value - b.value};
}
constexpr Seconds operator*(double factor, Seconds a) {
  return {factor * a.value};
}
constexpr Bandwidth operator*(double factor, Bandwidth a) {
  return {factor * a.bytes_per_second};
}
constexpr Bytes operator+(Bytes a, Bytes b) {
  return {a.count + b.count};
}
constexpr Bytes operator-(Bytes a, Bytes b) {
  return {a.count - b.count};
}
constexpr Seconds operator/(Bytes bytes, Bandwidth rate) {
  return {static_cast<double>(bytes.count) / rate.bytes_per_second};
}

// Readers of one quantity. Grammar: [sign] NUMBER [one blank] UNIT, units case-sensitive (docs/formats/conventions.md).
// `place` names the text's origin in the Error. Errors (Failure::input): unit missing, unknown or ambiguous; number not
// finite or out of range; bytes not whole.
Bytes parse_bytes(std::string_view text, const Place& place);          // 0 B or more
Bytes parse_signed_bytes(std::string_view text, const Place& place);   // a sign is allowed
Seconds parse_seconds(std::string_view text, const Place& place);      // 0 s or more
Bandwidth parse_bandwidth(std::string_view text, const Place& place);  // above 0; "/s" may be left out of bit units
Flops parse_flops(std::string_view text, const Place& place);          // above 0
double parse_share(std::string_view text, const Place& place);         // "60 %" is 0.6, a real from 0 to 1 is itself
double parse_percent(std::string_view text, const Place& place);       // "-10%" is -10; the unit % is required

// Readers of plain numbers: digits without leading zero, or "1e6" when whole. Errors as above.
std::int64_t parse_count(std::string_view text, const Place& place);  // 0 or more and below 2^53
double parse_real(std::string_view text, const Place& place);         // finite

// The units that a text of a quantity may end in, as these readers take it, and what each is worth in the base unit.
enum class UnitsOf { time, bytes, rate, flops };
struct UnitName {
  std::string name;
  double worth = 0;
};
std::vector<UnitName> unit_names(UnitsOf quantity);

// The plain numbers that they parse, as a regular expression (ECMA) without the sign that some may have.
inline constexpr const char* kNumberPattern = "(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

// Writers for people, three significant digits: "39.4 GiB", "25 GB/s", "3.87 ms".
std::string to_text(Bytes bytes);
std::string to_text(Seconds seconds);
std::string to_text(Bandwidth rate);
std::string to_text(Flops rate);

}  // namespace shardsim
