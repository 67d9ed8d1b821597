#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tree/map_reader.h"
#include "sim/program/program.h"

namespace shardsim {

// Readers of the values that program files are made of. Errors: Failure::input at the value's place.

int whole(const Tree& tree, int least);  // `least` or more and within int
std::int64_t read_units(const Tree& tree);
std::vector<std::int64_t> read_unit_list(const Tree& tree);
const std::vector<Tree>& items_of(const Tree& tree, std::string_view expected);

int small_count(MapReader& reader, std::string_view key, std::int64_t most);  // 1 to `most`
const std::vector<std::pair<std::string, Tree>>& named_entries(MapReader& reader, std::string_view key);
std::vector<int> read_ids(MapReader& reader, std::string_view key);  // absent: none
PerRank read_per_rank(MapReader& reader, std::string_view key);      // absent: 0

}  // namespace shardsim
