#include "cli/arguments/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

// An empty list of choices allows any value.
void check_choice(const std::string& what, const std::string& value, const std::vector<std::string>& choices,
                  const Place& place) {
  if (choices.empty() || std::ranges::find(choices, value) != choices.end()) return;
  throw input_error(place, fmt::format("unknown {} {}", what, excerpt(value)), known_names_hint(value, choices));
}

}  // namespace

// Walks the words once and fills an Arguments.
class Arguments::Reader {
 public:
  Reader(Arguments& into, const Command& command, const std::vector<std::string>& words)
      : into_(into), command_(command), words_(words) {}

  void read() {
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (word == "--") return take_rest();
      if (word.size() < 2 || word[0] != '-') {
        take_positional(word);
      } else if (word[1] == '-') {
        read_long(word);
      } else {
        read_letters(word);
      }
    }
  }

 private:
  void take_rest() {
    std::vector<std::string> rest(words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end());
    if (!command_.rest.empty()) {
      into_.rest_ = std::move(rest);
    } else {
      for (const std::string& word : rest) take_positional(word);
    }
  }

  void take_positional(const std::string& word) {
    std::size_t index = into_.positional_.size();
    const bool many = !command_.positionals.empty() && command_.positionals.back().many;
    if (many) index = std::min(index, command_.positionals.size() - 1);
    if (index == command_.positionals.size())
      throw input_error({"argument " + word}, "one argument too many", "Usage: " + command_.usage());
    check_choice(command_.positionals[index].name, word, command_.positionals[index].choices, {"argument " + word});
    into_.positional_.push_back(word);
  }

  // --name, --name VALUE or --name=VALUE.
  void read_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string shown = word.substr(0, equals);
    const auto found =
        std::ranges::find_if(command_.options, [&](const Option& option) { return "--" + option.name == shown; });
    if (found == command_.options.end()) throw unknown(shown);
    if (equals == std::string::npos) return take(*found, found->value.empty() ? "" : next_word(*found));
    if (found->value.empty()) throw misused(*found);
    take(*found, word.substr(equals + 1));
  }

  // -q, -qv, -j 2 or -j2.
  void read_letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const auto found = std::ranges::find(command_.options, word[i], &Option::letter);
      if (found == command_.options.end()) throw unknown(i == 1 ? word : fmt::format("-{}", word[i]));
      if (found->value.empty()) {
        take(*found, "");
      } else {
        return take(*found, i + 1 < word.size() ? word.substr(i + 1) : next_word(*found));
      }
    }
  }

  // An option is no value: a name left out would be found in another option's place.
  const std::string& next_word(const Option& option) {
    if (at_ + 1 == words_.size() || is_option(words_[at_ + 1])) throw misused(option);
    return words_[++at_];
  }

  bool is_option(const std::string& word) const {
    return std::ranges::any_of(command_.options, [&](const Option& option) {
      return word == "--" + option.name || word.starts_with("--" + option.name + "=") ||
             (option.letter != 0 && word == fmt::format("-{}", option.letter));
    });
  }

  void take(const Option& option, const std::string& value) {
    if (into_.has(option.name) && option.times != Option::Times::any)
      throw input_error(place(option.name), "the option is given twice", "Give it once");
    if (!option.value.empty() && value.empty())
      throw input_error(place(option.name), "the value is empty",
                        fmt::format("Write --{} {}, or leave the option out", option.name, option.value));
    if (!option.value.empty()) check_choice(option.name, value, option.choices, place(option.name));
    into_.values_[option.name].push_back(value);
  }

  Error unknown(const std::string& shown) const {
    std::vector<std::string> known;
    for (const Option& option : command_.options) known.push_back("--" + option.name);
    return input_error({"argument " + shown}, "unknown option", known_names_hint(shown, known));
  }

  Error misused(const Option& option) const {
    return input_error(place(option.name), "the option is used in the wrong way",
                       option.value.empty() ? "It takes no value; write --" + option.name
                                            : fmt::format("Write --{} {}", option.name, option.value));
  }

  Arguments& into_;
  const Command& command_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

Arguments::Arguments(const std::vector<std::string>& words, const Command& command) : command_(command.name) {
  Reader(*this, command, words).read();
  for (const Option& option : command.options) {
    if (!option.standard.empty()) standards_[option.name] = option.standard;
    if (option.times != Option::Times::once || has(option.name)) continue;
    throw input_error(place(option.name), "the option is missing",
                      fmt::format("Write --{}{}: {}", option.name, option.value.empty() ? "" : " " + option.value,
                                  option.help.substr(0, option.help.rfind('.'))));
  }
  for (const Option& option : command.options) {
    if (option.needs.empty() || !has(option.name) || has(option.needs)) continue;
    const auto other = std::ranges::find(command.options, option.needs, &Option::name);
    throw input_error(
        place(option.name), "the option has a meaning only together with --" + option.needs,
        fmt::format("Add --{}{}, or leave it out", option.needs, other->value.empty() ? "" : " " + other->value));
  }
  const auto needed = std::ranges::count(command.positionals, false, &Positional::optional);
  if (positional_.size() < static_cast<std::size_t>(needed))
    throw input_error({"arguments"}, "an argument is missing", "Usage: " + command.usage());
  if (!command.rest.empty() && rest_.empty())
    throw input_error({"arguments"}, "no command is given", "Usage: " + command.usage());
}

void Arguments::refuse_beside(const std::string& chosen, const std::vector<std::string>& idle) const {
  if (!has(chosen)) return;
  for (const std::string& name : idle)
    if (has(name)) throw input_error(place(name), "the option has no effect together with --" + chosen, "Leave it out");
}

void Arguments::refuse_empty(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    if (has(name) && text(name).empty())
      throw input_error(place(name), "the value is empty",
                        "Give one, or leave the option out; is a variable of a script not set?");
}

std::optional<std::string> Arguments::value(const std::string& name) const {
  if (const auto found = values_.find(name); found != values_.end()) return found->second.back();
  const auto standard = standards_.find(name);
  return standard == standards_.end() ? std::nullopt : std::optional(standard->second);
}

std::vector<std::string> Arguments::values(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::optional<std::int64_t> Arguments::count(const std::string& name, std::int64_t least, std::int64_t most) const {
  const auto text = value(name);
  if (!text) return std::nullopt;
  const std::int64_t number = parse_count(*text, place(name));
  if (number >= least && number <= most) return number;
  throw input_error(place(name),
                    fmt::format("{} is not a whole number from {} to {}", excerpt(*text), with_thousands(least),
                                with_thousands(most)),
                    "Give another number");
}

ResultWriter result_writer(const Arguments& given) {
  return {given.command(), given.has("force")};
}

std::int64_t most_threads() {
  constexpr std::int64_t kPerProcessor = 4, kOnSmall = 64;
  return std::max(kOnSmall, kPerProcessor * static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

void refuse_read_file(const std::string& output, const std::vector<std::string>& read) {
  std::error_code absent;
  for (const std::string& each : read)
    if (std::filesystem::equivalent(output, each, absent))
      throw input_error(Arguments::place("output"), excerpt(output) + " is the file that is read", "Name another file");
}

}  // namespace shardsim
