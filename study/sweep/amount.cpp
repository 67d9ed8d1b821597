#include "study/sweep/amount.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

struct UnitKind {
  Amount::Kind kind;
  double (*value_of)(std::string_view text, const Place& place);
};

constexpr std::array<UnitKind, 5> kUnitKinds = {
    {{Amount::Kind::bytes,
      [](std::string_view text, const Place& place) { return static_cast<double>(parse_bytes(text, place).count); }},
     {Amount::Kind::rate,
      [](std::string_view text, const Place& place) { return parse_bandwidth(text, place).bytes_per_second; }},
     {Amount::Kind::time, [](std::string_view text, const Place& place) { return parse_seconds(text, place).value; }},
     {Amount::Kind::flops,
      [](std::string_view text, const Place& place) { return parse_flops(text, place).per_second; }},
     {Amount::Kind::plain, parse_percent}}};

// Finds the kind of the unit, and the value of one of it. Sizes of less than a byte are none, so a thousand of them are
// asked for.
bool find_unit_kind(Amount& amount) {
  for (const UnitKind& each : kUnitKinds) {
    try {
      amount.per_unit = each.value_of("1 " + amount.unit, {}) / (amount.unit == "%" ? 100 : 1);
      amount.kind = each.kind;
      return true;
    } catch (const Error&) {  // of another kind
    }
  }
  return false;
}

}  // namespace

bool Amount::is_whole() const {
  return unit.empty() && number == std::floor(number) && std::abs(number) < 0x1.0p53;
}

std::optional<Amount> amount_of(std::string_view text) {
  Amount amount;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (failure != std::errc{} || !std::isfinite(amount.number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  amount.unit = std::string(text);
  if (!amount.unit.empty() && !find_unit_kind(amount)) return std::nullopt;
  return amount;
}

std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 0x1.0p53) {
    return fmt::format("{}", static_cast<std::int64_t>(number));
  }
  return shortest(number);
}

std::string amount_text(double number, const Amount& like) {
  if (like.unit.empty()) return number_text(number);
  const double bytes = number * like.per_unit;
  if (like.kind == Amount::Kind::bytes && bytes != std::floor(bytes)) return number_text(std::round(bytes)) + " B";
  return number_text(number) + " " + like.unit;
}

double rounded_to_digits(double number, int digits) {
  const std::string text = fmt::format("{:.{}e}", number, digits - 1);
  double rounded = number;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

}  // namespace shardsim
