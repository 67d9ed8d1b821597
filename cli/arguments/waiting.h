#pragma once

#include <string>

namespace shardsim {

// While it lives, a line of the terminal tells what goes on and for how long: from the second second on, each second
// anew, so that nobody takes a long search for a program that hangs. What is said or printed meanwhile takes its place.
// Nothing at all where stderr is no terminal. One at a time; an inner one changes what the outer one says.
class Waiting {
 public:
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  bool outermost_ = false;
  std::string before_;
};

}  // namespace shardsim
