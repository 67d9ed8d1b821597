#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// A text of 32 hexadecimal digits that nobody can guess: 128 bits of the system's randomness. Errors: Failure::run
// where the system gives none.
std::string random_token();

// True when both are the same, in a time that does not tell where they differ.
bool is_same_token(std::string_view given, std::string_view token);

// True when a request to this port may be answered: it was sent to this computer by name (else a name of somebody
// else's leads here), and by a page of this server or by no page at all.
bool is_from_here(std::string_view host, std::string_view origin, std::string_view site, int port);

}  // namespace shardsim
