#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// The limits of one document. Exceeding one is bad input, so that no file exhausts memory or the stack.
struct TreeLimits {
  std::size_t depth = 64;
  std::size_t values = 1'000'000;
  std::size_t keys_per_map = 10'000;
  const char* remedy = "Write large tables as data files";
};

// Values in a tree, keys counted too; stops counting above `most`.
std::size_t size_of(const Tree& tree, std::size_t most);

// Builds one Tree from the events of a reader (open, key, value, close), whatever the syntax, and keeps the rules that
// all our formats share: unique keys, no NUL in a text ("\0" is an escape in both syntaxes), the limits. Errors:
// Failure::input at the place of the event.
class TreeBuilder {
 public:
  explicit TreeBuilder(TreeLimits limits) : limits_(limits) {}

  void open(Tree::Kind kind, const Place& place);
  void close();
  void key(std::string name, const Place& place);                                 // of the value that comes next
  void leaf(Tree::Kind kind, std::string text, bool quoted, const Place& place);  // a scalar or a null
  void copy(const Tree& tree, const Place& place);  // a whole tree once more: what an alias stands for

  // True when the next value belongs into a map whose key has not come yet.
  bool wants_key() const;
  const Tree& last() const { return *last_; }  // the value finished last; valid until the next event
  void spend(std::size_t values, const Place& place);
  Tree take() { return std::move(root_); }

 private:
  struct Level {
    Tree tree;
    std::unordered_set<std::string> keys;
    std::optional<std::string> key;  // of the value that comes next
    Place key_place;
  };

  void add(Tree&& tree);
  void check_text(const std::string& text, const Place& place) const;
  void check_depth(std::size_t depth, const Place& place) const;

  TreeLimits limits_;
  std::vector<Level> open_;
  std::size_t values_ = 0;
  Tree root_;
  const Tree* last_ = nullptr;
};

}  // namespace shardsim
