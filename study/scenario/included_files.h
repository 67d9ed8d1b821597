#pragma once

#include <string>
#include <vector>

#include "base/tree/tree.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// A scenario file whose cases another one takes.
struct IncludedFile {
  std::string path;  // as the current folder sees it
  std::string text;
  Tree tree;
};

// Files that include each other, from the one that is run down to the one that is read.
class IncludeChain {
 public:
  explicit IncludeChain(const std::string& path);

  // The files that the key `include` of the innermost scenario lists, read, in its order. Errors: Failure::input for no
  // list of file names, no such file, a circle, over 8 files in a row or 100 in all.
  std::vector<IncludedFile> read(const Tree& scenario, const std::string& folder);

  void enter(const IncludedFile& file) { paths_.push_back(file.path); }
  void leave() { paths_.pop_back(); }

 private:
  std::string checked(const Tree& name, const std::string& folder) const;

  std::vector<std::string> paths_;
  std::size_t count_ = 0;
};

// Returns the part of the command line that holds for the cases of an included file: all but the title, the cross-check
// and changes of single cases by number, which mean the file that is run.
Overrides overrides_of_included(const Overrides& overrides);

// The cases of the files that a scenario at `path` includes, in their order, each as its own file has it. Errors: as
// IncludeChain::read() and case_trees().
std::vector<CaseTree> included_case_trees(const Tree& scenario, const std::string& path, const Overrides& overrides,
                                          std::uint64_t seed);

// Refuses keys that hold for the file's own cases where it includes others and has no `cases`.
void refuse_idle_keys_beside_include(const Tree& scenario);

}  // namespace shardsim
