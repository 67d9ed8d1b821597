#include "tests/case_file/fields.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace shardsim::golden {

Fields::Fields(const Json& map, std::string what) : map_(map), what_(std::move(what)) {
  if (!map.is_object()) throw std::runtime_error(what_ + " is no map");
}

const Json& Fields::at(const std::string& key) {
  known_.insert(key);
  if (!map_.contains(key)) throw std::runtime_error(fmt::format("{} has no field {}", what_, key));
  return map_.at(key);
}

const Json* Fields::given(const std::string& key) {
  known_.insert(key);
  const auto found = map_.find(key);
  return found == map_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::ignore(std::initializer_list<const char*> keys) {
  known_.insert(keys.begin(), keys.end());
}

double Fields::real(const std::string& key) {
  return at(key).get<double>();
}

std::int64_t Fields::whole(const std::string& key) {
  return at(key).get<std::int64_t>();
}

bool Fields::flag(const std::string& key, bool fallback) {
  const Json* value = given(key);
  return value ? value->get<bool>() : fallback;
}

std::string Fields::text(const std::string& key) {
  return at(key).get<std::string>();
}

std::vector<double> Fields::reals(const std::string& key) {
  const Json* value = given(key);
  return value ? value->get<std::vector<double>>() : std::vector<double>{};
}

void Fields::finish() const {
  for (const auto& [key, value] : map_.items()) {
    if (!known_.contains(key)) throw std::runtime_error(fmt::format("{} has an unknown field {}", what_, key));
  }
}

}  // namespace shardsim::golden
