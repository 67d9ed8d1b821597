#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string_view>

namespace shardsim {

// The parts that a JSON text is made of, one after the other, for texts that are far too large to be in memory. Views
// hold until the next call.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void key(std::string_view name) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void number(std::string_view digits, double value) = 0;
  virtual void word() = 0;  // true, false, null, and what is printed of a float that holds no number
  virtual void begin(bool is_list) = 0;
  virtual void end(bool is_list) = 0;
};

// Where a text stops being JSON, or ends too early; both count from 1. A trace is often one line of gigabytes, in which
// only the column, in bytes, finds anything.
struct ScanFault {
  int line = 0;
  int column = 0;  // 0: beyond what an int holds
};

// Reads one JSON value, and nothing but blanks behind it. Returns where it is none. What is wrong within a text (bytes
// that are no UTF-8) is let through, and so are NaN, Infinity, nan and inf, signed or not, as words.
std::optional<ScanFault> scan_json(std::istream& in, JsonEvents& events);

}  // namespace shardsim
