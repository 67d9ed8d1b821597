#include "cli/tolerance.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {

std::optional<double> tolerance(const Arguments& given) {
  const auto text = given.value("tolerance");
  if (!text) return std::nullopt;
  const double most = parse_percent(*text, Arguments::place("tolerance"));
  if (most >= 0) return most;
  throw input_error(Arguments::place("tolerance"), excerpt(*text) + " is below 0", "Write 0% or more");
}

}  // namespace shardsim
