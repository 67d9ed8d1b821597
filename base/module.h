#pragma once

#include <string>

namespace shardsim {

// A module is a shared library that the program loads only when it needs what is in it, and keeps.
struct Module {
  void* library = nullptr;   // as dlopen(3) gives it; nullptr: there is none
  void* function = nullptr;  // the one that was asked for
};

// `file` is the library's name without a folder: it lies beside this code or in a folder above it (as tests and the
// Python module have it), or in lib/shardsim there, where it is installed. Empty where it is not there, cannot be
// loaded or lacks the function: `why` then says so.
Module load_module(const char* file, const char* function, std::string& why);

}  // namespace shardsim
