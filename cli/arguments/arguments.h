#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result_folder.h"
#include "cli/arguments/command.h"

namespace shardsim {

// The arguments of one command, read as its declaration says: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags that
// share a dash (-qv), and positionals; after `--` all are positionals, or the command's `rest`.
// Errors (Failure::input, place "argument --NAME"): an option that is unknown, abbreviated, given twice, missing, or
// without its value; one without another that it needs; a value that is empty or none of the choices; too few or too
// many positionals.
class Arguments {
 public:
  Arguments(const std::vector<std::string>& words, const Command& command);

  bool has(const std::string& name) const { return values_.contains(name); }  // whether it was given
  std::optional<std::string> value(const std::string& name) const;            // as given, else the declared default
  std::vector<std::string> values(const std::string& name) const;             // of an option that may be repeated
  std::string text(const std::string& name) const { return value(name).value_or(""); }
  // A whole number. Errors: Failure::input for another text, and outside least to most.
  std::optional<std::int64_t> count(const std::string& name, std::int64_t least, std::int64_t most) const;

  const std::string& command() const { return command_; }  // as it is typed: "shardsim cluster import"
  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<std::string>& rest() const { return rest_; }
  static Place place(const std::string& name) { return {"argument --" + name}; }
  // Errors: the option `chosen` was given, and one of those that have no effect beside it.
  void refuse_beside(const std::string& chosen, const std::vector<std::string>& idle) const;
  // Errors: one of these options is given with an empty value, as by a variable of a script that was not set; it would
  // count as an option that was left out.
  void refuse_empty(const std::vector<std::string>& names) const;

 private:
  class Reader;
  std::string command_;
  std::map<std::string, std::vector<std::string>> values_;
  std::map<std::string, std::string> standards_;
  std::vector<std::string> positional_, rest_;
};

// The command as the writer of its results; --force lets it replace files of others.
ResultWriter result_writer(const Arguments& given);

// The threads that --threads may ask for: 4 for each processor of this machine, and 64 on a small one. More only wait
// for each other.
std::int64_t most_threads();

// A file is not replaced by what was made of it, --force or not. Errors: Failure::input at the option `output`.
void refuse_read_file(const std::string& output, const std::vector<std::string>& read);

}  // namespace shardsim
