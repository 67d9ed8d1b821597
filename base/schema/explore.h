#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/schema/part.h"
#include "base/tree/tree.h"

namespace shardsim {

// A kind of file, or a part of one, whose reader is to be asked.
struct Inquiry {
  std::function<void(const Tree&)> read;  // throws Error where it refuses
  std::vector<Tree> specimens;            // what to begin with
  // By the name of a key: values, as YAML, that are worth trying there beside those that fit its form.
  std::map<std::string, std::vector<std::string>> values;
};

// Learns what a reader takes, by reading: it gives the reader the specimens, then these with every key that the reader
// asked for and did not find, with every value that the forms of the keys suggest, and without every key that is there;
// what is refused for a missing key is tried with that key. It ends when nothing is left that was not tried. `shape`
// and `parts` gather all records. Equal inquiries always try the same files.
void explore(const Inquiry& inquiry, Shape& shape, Parts& parts);

}  // namespace shardsim
