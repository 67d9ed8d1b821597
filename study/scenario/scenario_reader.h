#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "study/scenario/case_trees.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// A scenario file of which one case is read again and again, each time with other changes: the file and those that it
// names are read once, and the other cases are not looked at again.
class ScenarioReader {
 public:
  // `given`: the changes of the command line, which every case has. Errors: those of read_scenario().
  ScenarioReader(std::string path, Overrides given);

  // The scenario with all of its cases, as read_scenario() gives it.
  const Scenario& whole() const { return whole_; }

  // Reads everything again where one of the files was written since; true when that was so. Errors: those of
  // read_scenario(), and the next call reads again.
  bool renew();

  // Returns what read_scenario() gives with the command line's changes for that case, with it alone; until renew()
  // reads again.
  const Scenario& base(const std::string& name);

  // The same with other changes: those of the command line, and what else is set in that case.
  Scenario with_case(const std::string& name, const Overrides& changes);

 private:
  // A case as the command line leaves it, and what all the others hold, of which there is a limit for all together.
  struct Base {
    Scenario scenario;
    std::optional<std::size_t> entry;  // of `cases`, where it stands for this case alone
    std::size_t values_of_others = 0, weight_of_others = 0;
  };

  void read();
  Base made_base(const std::string& name);
  const Base& base_of(const std::string& name);
  Overrides given_for(const std::string& name) const;
  std::optional<std::size_t> entry_of(const std::string& name) const;
  std::optional<Scenario> read_alone(const Base& base, const Overrides& changes);

  std::string path_;
  Overrides given_;
  std::string text_, folder_;
  Tree tree_;
  bool is_read_ = false;
  LoadedTrees loaded_;
  Scenario whole_;
  std::map<std::string, Base> bases_;  // by case
};

}  // namespace shardsim
