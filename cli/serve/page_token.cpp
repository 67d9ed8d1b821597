#include "cli/serve/page_token.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "base/error.h"

namespace shardsim {

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw run_error("explore: the system gives no random numbers", "Try again");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool is_same_token(std::string_view given, std::string_view token) {
  unsigned differs = given.size() == token.size() ? 0 : 1;
  for (std::size_t at = 0; at < token.size(); ++at) {
    const char other = at < given.size() ? given[at] : '\0';
    differs |= static_cast<unsigned>(static_cast<unsigned char>(token[at]) ^ static_cast<unsigned char>(other));
  }
  return differs == 0;
}

bool is_from_here(std::string_view host, std::string_view origin, std::string_view site, int port) {
  const std::string address = fmt::format("127.0.0.1:{}", port), name = fmt::format("localhost:{}", port);
  if (host != address && host != name) return false;
  if (!origin.empty() && origin != fmt::format("http://{}", host)) return false;
  return site.empty() || site == "same-origin" || site == "none";
}

}  // namespace shardsim
