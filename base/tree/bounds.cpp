#include "base/tree/bounds.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace shardsim {
namespace {

std::string plain(double number) {
  const bool digits = number == std::floor(number) && std::fabs(number) < 1e9;
  return digits ? fmt::format("{:.0f}", number) : fmt::format("{:g}", number);
}

bool is_under(const Bounds& bounds, double number) {
  return bounds.without_least ? !(number > bounds.least) : !(number >= bounds.least);
}

std::string fault(const Bounds& bounds, double number) {
  if (is_under(bounds, number))
    return fmt::format("{} {}", bounds.without_least ? "is not above" : "is below", plain(bounds.least));
  return fmt::format("{} {}", bounds.without_most ? "is not below" : "is above", plain(bounds.most));
}

}  // namespace

bool Bounds::hold(double number) const {
  return !is_under(*this, number) && (without_most ? number < most : number <= most);
}

std::string Bounds::text() const {
  const bool lower = std::isfinite(least), upper = std::isfinite(most);
  if (lower && upper && !without_least && !without_most) return fmt::format("from {} to {}", plain(least), plain(most));
  std::string text = !lower ? "" : without_least ? "above " + plain(least) : plain(least) + " or more";
  if (!upper) return text;
  if (lower) text += " and ";
  return text + (without_most ? "below " : "at most ") + plain(most);
}

void refuse_outside(const Bounds& bounds, double number, std::string_view text, const Place& place,
                    std::string_view advice) {
  if (bounds.hold(number)) return;
  const bool is_noun = bounds.text().ends_with("or more");
  std::string remedy = (is_noun ? "Write " : "Write a number ") + bounds.text();
  if (!advice.empty()) remedy += fmt::format(": {}", advice);
  throw input_error(place, excerpt(text) + " " + fault(bounds, number), remedy);
}

}  // namespace shardsim
