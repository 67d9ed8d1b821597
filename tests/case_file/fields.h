#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace shardsim::golden {

using Json = nlohmann::ordered_json;

// Reads a map of a golden case field by field. A field that nobody asked for is a case that we do not understand:
// `finish` throws for it. All errors are std::runtime_error and fail the case.
class Fields {
 public:
  Fields(const Json& map, std::string what);

  const Json& at(const std::string& key);                // required
  const Json* given(const std::string& key);             // null when absent or null
  void ignore(std::initializer_list<const char*> keys);  // known, without influence here

  double real(const std::string& key);
  std::int64_t whole(const std::string& key);
  bool flag(const std::string& key, bool fallback);
  std::string text(const std::string& key);
  std::vector<double> reals(const std::string& key);  // empty when absent or null
  void finish() const;

 private:
  const Json& map_;
  std::string what_;
  std::set<std::string> known_;
};

}  // namespace shardsim::golden
