#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/tree/asked.h"
#include "base/tree/tree.h"
#include "study/sweep/axis.h"

namespace shardsim {

// The value of a name at one point: a number, or a text.
using FilterValue = std::variant<Amount, std::string>;
// The value of a name at the point that is asked about; nothing for a name that nobody has.
using NamedValues = std::function<std::optional<FilterValue>(const std::string& name)>;

// The form in which a condition may be written, but for parentheses that fit each other.
Form condition_form();

// A condition that points have to meet, as docs/formats/scenario.md has it: two sides with <, <=, >, >=, == or !=
// between them; a side is made of paths, numbers with units, texts, + - * / and parentheses.
class Filter {
 public:
  // Errors (Failure::input at `stated`): what cannot be read, and where.
  explicit Filter(const Tree& stated);

  // Errors (Failure::input): a name that is neither a path nor compared with a text; sums and comparisons of different
  // units; a text where a number is due.
  bool holds(const NamedValues& values) const;

  struct Term;  // a part of a side

 private:
  std::string text_;
  Place place_;
  std::string relation_;
  std::shared_ptr<const Term> left_, right_;
};

}  // namespace shardsim
