#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace shardsim {

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
