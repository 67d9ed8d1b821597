#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace shardsim {

// Declares what a command accepts.
struct OptionSpec {
  std::string name;  // long name without dashes
  char letter = 0;   // short form, or 0
  bool takes_value = false;
  bool repeats = false;
};

// The arguments of one command, parsed and checked: unknown, abbreviated and repeated options are errors with the
// nearest known one (Failure::input, place "argument --NAME").
class Arguments {
 public:
  Arguments(const std::vector<std::string>& arguments, const std::vector<OptionSpec>& options,
            std::size_t least_positional, std::size_t most_positional, const std::string& usage);

  bool has(const std::string& name) const { return values_.contains(name); }
  std::optional<std::string> value(const std::string& name) const;
  std::vector<std::string> values(const std::string& name) const;
  const std::vector<std::string>& positional() const { return positional_; }
  static Place place(const std::string& name) { return {"argument --" + name}; }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positional_;
};

}  // namespace shardsim
