#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardsim {

// A number as a scenario writes it, with its unit: "100 Gbit/s", "512", "60 %".
struct Amount {
  enum class Kind { plain, bytes, rate, time, flops };  // 60 % is the plain number 0.6
  double number = 0;                                    // in `unit`
  std::string unit;                                     // as written; "" for a bare number
  Kind kind = Kind::plain;
  double per_unit = 1;  // one `unit` in bytes, bytes/s, s or FLOP/s; 0.01 of a percentage

  double value() const { return number * per_unit; }
  // The same amount in the unit of another one of its kind.
  double in_unit_of(const Amount& other) const { return unit == other.unit ? number : value() / other.per_unit; }
  bool is_whole() const;  // a whole number without a unit
};

// Nothing where the text is no number, or its unit is none of those of docs/formats/conventions.md ("Units in text").
std::optional<Amount> amount_of(std::string_view text);

// A number as a scenario would write it: whole ones without a point, others in the shortest form that reads back.
std::string number_text(double number);
// The same with a unit, for one that such an amount has. Sizes become whole bytes, for a file may state no others.
std::string amount_text(double number, const Amount& like);

// To so many significant decimal digits.
double rounded_to_digits(double number, int digits);

}  // namespace shardsim
