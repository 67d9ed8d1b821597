#include "validate/measurements/markdown_line.h"

namespace shardsim {
namespace {

std::string escaped(const std::string& cell) {
  std::string text;
  for (const char c : cell) {
    if (c == '|') text += '\\';
    text += c == '\n' || c == '\r' ? ' ' : c;
  }
  return text;
}

}  // namespace

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + escaped(cell) + " |";
  return line + "\n";
}

}  // namespace shardsim
