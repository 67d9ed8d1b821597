#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace shardsim {

// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), with which ranks prove to each other that they know the secret of a run.
// Our own code, because compute nodes build this from sources with a compiler and no library beside it.
using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view text);
Digest hmac_sha256(std::string_view key, std::string_view text);

// The time that it takes does not depend on where the digests differ, so that nobody finds one byte by byte.
bool equal_in_constant_time(const Digest& one, const Digest& other);

std::string bytes_of(const Digest& digest);

// The secret that the ranks of a run know and strangers do not.

inline constexpr const char* kSecretVariable = "SHARDSIM_SECRET";
// The advice to a user who has to make one.
inline constexpr const char* kSecretRemedy =
    "Set the same one for every rank, export SHARDSIM_SECRET=$(head -c 32 /dev/urandom | base64) before the launcher "
    "starts them, or give --secret-file";

// Without white space around it. Errors (Failure::input at `place`): fewer than 16 bytes, which could be guessed, or
// more than 4096.
std::string checked_secret(std::string_view text, const Place& place);

// Returns the secret in a file, best of mode 0600. Errors (Failure::input, naming the file): not there, not readable,
// not a regular file, open to every user of the machine, and those of checked_secret.
std::string secret_of_file(const std::string& path);

// 32 bytes that nobody can foretell. Errors (Failure::run): the machine gives none.
std::string random_secret();
std::string random_secret_text();  // the same in hexadecimal digits, for an environment variable

}  // namespace shardsim
