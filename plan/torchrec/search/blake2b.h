#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shardsim::torchrec {

// BLAKE2b (RFC 7693) of a text without key; `length` bytes, 1 to 64.
std::vector<std::uint8_t> blake2b(std::string_view text, std::size_t length);

}  // namespace shardsim::torchrec
