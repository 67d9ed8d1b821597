#pragma once

#include <cstdint>
#include <istream>
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
  virtual void word() = 0;  // true, false, null
  virtual void begin(bool is_list) = 0;
  virtual void end(bool is_list) = 0;
};

// Reads one JSON value, and nothing but blanks behind it. Returns 0, or the line at which it is no JSON, or ends too
// early. What is wrong within a text (bytes that are no UTF-8) is let through.
int scan_json(std::istream& in, JsonEvents& events);

}  // namespace shardsim
