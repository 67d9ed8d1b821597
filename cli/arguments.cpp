#include "cli/arguments.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "base/text.h"

namespace shardsim {
namespace {

namespace po = boost::program_options;

po::options_description describe(const std::vector<OptionSpec>& options) {
  po::options_description description;
  for (const OptionSpec& option : options) {
    const std::string names = option.letter ? option.name + "," + option.letter : option.name;
    if (option.takes_value) {
      description.add_options()(names.c_str(), po::value<std::vector<std::string>>()->composing(), "");
    } else {
      description.add_options()(names.c_str(), "");
    }
  }
  description.add_options()("positional-arguments", po::value<std::vector<std::string>>(), "");
  return description;
}

std::string unknown_hint(const std::string& given, const std::vector<OptionSpec>& options) {
  std::vector<std::string> known;
  for (const OptionSpec& option : options) known.push_back("--" + option.name);
  return known_names_hint(given, known);
}

// Boost's own texts name no remedy.
po::parsed_options parse(const std::vector<std::string>& arguments, const std::vector<OptionSpec>& options) {
  const po::options_description description = describe(options);
  po::positional_options_description positional;
  positional.add("positional-arguments", -1);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    return po::command_line_parser(arguments).options(description).positional(positional).style(style).run();
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    throw input_error({"argument " + name}, "unknown option", unknown_hint(name, options));
  } catch (const po::error_with_option_name& error) {
    const std::string name = error.get_option_name();
    throw input_error({"argument " + name}, "the option is not given as it should be",
                      "A value follows an option that takes one, and no other; see --help");
  } catch (const po::error& error) {
    throw input_error({"arguments"}, error.what(), "See --help");
  }
}

const OptionSpec* find(const std::vector<OptionSpec>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const OptionSpec& o) { return o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

Arguments::Arguments(const std::vector<std::string>& arguments, const std::vector<OptionSpec>& options,
                     std::size_t least_positional, std::size_t most_positional, const std::string& usage) {
  for (const po::option& option : parse(arguments, options).options) {
    if (option.position_key >= 0) {
      positional_.insert(positional_.end(), option.value.begin(), option.value.end());
      continue;
    }
    const OptionSpec* spec = find(options, option.string_key);
    if (values_.contains(option.string_key) && !(spec && spec->repeats)) {
      throw input_error(place(option.string_key), "the option is given twice", "Give it once");
    }
    auto& values = values_[option.string_key];
    values.insert(values.end(), option.value.begin(), option.value.end());
  }
  if (positional_.size() < least_positional)
    throw input_error({"arguments"}, "an argument is missing", "Usage: " + usage);
  if (positional_.size() > most_positional) {
    throw input_error({"argument " + positional_[most_positional]}, "one argument too many", "Usage: " + usage);
  }
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
