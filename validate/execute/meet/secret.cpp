#include "validate/execute/meet/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {
namespace {

constexpr std::size_t kLeastSecret = 16, kMostSecret = 4096;  // bytes
constexpr std::size_t kRandomBytes = 32;

}  // namespace

std::string checked_secret(std::string_view text, const Place& place) {
  const std::string secret(trimmed(text, " \t\r\n"));
  if (secret.size() < kLeastSecret || secret.size() > kMostSecret)
    throw input_error(place,
                      fmt::format("a secret has {} to {} bytes, this one {}", kLeastSecret, kMostSecret, secret.size()),
                      kSecretRemedy);
  return secret;
}

// Opened without waiting: a FIFO would hold up the rank for ever.
std::string secret_of_file(const std::string& path) {
  const Place place{path};
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open())
    throw input_error(place, fmt::format("the secret cannot be read: {}", error_text(errno)), kSecretRemedy);
  struct stat about {};
  if (fstat(file.fd(), &about) != 0 || !S_ISREG(about.st_mode))
    throw input_error(place, "a secret is in a regular file, which this is not", kSecretRemedy);
  if ((about.st_mode & S_IRWXO) != 0)
    throw input_error(place, "all users of this machine may open this secret",
                      "Keep it to yourself: chmod 600 " + path);
  std::array<char, kMostSecret + 64> text{};  // more than a secret has
  const ssize_t got = read(file.fd(), text.data(), text.size());
  if (got < 0) throw input_error(place, fmt::format("the secret cannot be read: {}", error_text(errno)), kSecretRemedy);
  return checked_secret({text.data(), static_cast<std::size_t>(got)}, place);
}

std::string random_secret() {
  std::string secret(kRandomBytes, '\0');
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    throw run_error("the machine gives no random numbers: " + error_text(errno), "");
  return secret;
}

std::string random_secret_text() {
  std::string text;
  for (const char byte : random_secret()) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace shardsim
