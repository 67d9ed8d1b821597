#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace shardsim {

// "1KiB:1GiB:x2" (times 2 up to the end), "1MiB:8MiB:+1MiB" (in steps), "64KiB,1MiB" or one size; rising and unique
// where a range says so. Errors (Failure::input at `place`): not such a text, a size of zero or from 2^63 bytes, over
// 1,000 sizes.
std::vector<std::int64_t> parse_sizes(const std::string& text, const Place& place);

// A cell of a table: bytes as a plain count or with a unit. Errors as parse_count() and parse_bytes().
std::int64_t cell_bytes(const std::string& text, const Place& place);

}  // namespace shardsim
