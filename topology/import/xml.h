#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace shardsim {

// One element of an XML document, with its place. Text between elements is not kept: the formats read here have none.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // in file order, names unique, entities replaced
  std::vector<XmlElement> children;
  Place place;

  const std::string* attribute(std::string_view key) const;  // null when absent
};

// Reads the elements of a document with Expat, which knows the line of each and refuses what is not well-formed.
// Errors (Failure::input, with line and column): not well-formed, nesting over 64, a DOCTYPE with definitions of its
// own.
XmlElement parse_xml(std::string_view text, const std::string& source);

}  // namespace shardsim
