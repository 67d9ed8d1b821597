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

// Reads the elements of a document: tags, attributes, the five named entities and numeric ones; comments, the XML
// declaration and a DOCTYPE without definitions of its own are skipped. Our own reader and not Boost's, because errors
// need the line of every element and a hostile file must not exhaust the stack.
// Errors (Failure::input, with line and column): not well-formed, nesting over 64, no root, more than one root.
XmlElement parse_xml(std::string_view text, const std::string& source);

}  // namespace shardsim
