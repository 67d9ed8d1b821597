// cli/arguments.h without Boost, for compute nodes: --name VALUE, --name=VALUE, -o VALUE and positional arguments.
#include "cli/arguments.h"

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

const OptionSpec& find(const std::vector<OptionSpec>& options, const std::string& argument) {
  std::vector<std::string> known;
  for (const OptionSpec& option : options) {
    const bool is_letter = option.letter != 0 && argument == std::string("-") + option.letter;
    if (is_letter || argument == "--" + option.name) return option;
    known.push_back("--" + option.name);
  }
  throw input_error({"argument " + argument}, "unknown option", known_names_hint(argument, known));
}

}  // namespace

Arguments::Arguments(const std::vector<std::string>& arguments, const std::vector<OptionSpec>& options,
                     std::size_t least_positional, std::size_t most_positional, const std::string& usage) {
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at].size() < 2 || arguments[at][0] != '-') {
      positional_.push_back(arguments[at]);
      continue;
    }
    const std::size_t equals = arguments[at].starts_with("--") ? arguments[at].find('=') : std::string::npos;
    const OptionSpec& option = find(options, arguments[at].substr(0, equals));
    if (values_.contains(option.name) && !option.repeats)
      throw input_error(place(option.name), "the option is given twice", "Give it once");
    std::vector<std::string>& values = values_[option.name];
    if (equals != std::string::npos && option.takes_value) {
      values.push_back(arguments[at].substr(equals + 1));
    } else if (equals != std::string::npos || (option.takes_value && at + 1 == arguments.size())) {
      throw input_error(place(option.name), "the option is not given as it should be",
                        "A value follows an option that takes one, and no other; see --help");
    } else if (option.takes_value) {
      values.push_back(arguments[++at]);
    }
  }
  if (positional_.size() < least_positional)
    throw input_error({"arguments"}, "an argument is missing", "Usage: " + usage);
  if (positional_.size() > most_positional)
    throw input_error({"argument " + positional_[most_positional]}, "one argument too many", "Usage: " + usage);
}

std::optional<std::string> Arguments::value(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace shardsim
