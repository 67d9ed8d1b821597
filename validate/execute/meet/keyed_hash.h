#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardsim {

// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), with which ranks prove to each other that they know the secret of a run.
// Our own code, because compute nodes build this from sources with a compiler and no library beside it.
using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view text);
Digest hmac_sha256(std::string_view key, std::string_view text);

// The time that it takes does not depend on where the digests differ, so that nobody finds one byte by byte.
bool equal_in_constant_time(const Digest& one, const Digest& other);

std::string bytes_of(const Digest& digest);

}  // namespace shardsim
