#include "validate/execute/meet/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>

#include "base/text.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {
namespace {

constexpr std::size_t kBlockBytes = 64;  // bytes
using HashState = std::array<std::uint32_t, 8>;

// The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3).
constexpr HashState kFirstState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// The same of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The message schedule of a block (FIPS 180-4, 6.2.2, step 1).
std::array<std::uint32_t, 64> schedule(std::string_view block) {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < kBlockBytes; ++i)
    words[i / 4] = words[i / 4] << 8 | static_cast<std::uint8_t>(block[i]);  // big-endian
  for (std::size_t i = 16; i < words.size(); ++i) {
    const std::uint32_t early = words[i - 15], late = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) + words[i - 7] +
               (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
  }
  return words;
}

void absorb(HashState& state, std::string_view block) {
  const std::array<std::uint32_t, 64> words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + words[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const HashState change = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += change[i];
}

// The padding after the text: a one bit, zeros, and the text's length in bits, up to a whole block.
std::string padding(std::size_t bytes) {
  std::string text(1, '\x80');
  text.append((2 * kBlockBytes - 9 - bytes % kBlockBytes) % kBlockBytes, '\0');
  const std::uint64_t bits = std::uint64_t{8} * bytes;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift);
  return text;
}

std::string masked(std::string key, std::uint8_t mask) {
  for (char& byte : key) byte = static_cast<char>(static_cast<std::uint8_t>(byte) ^ mask);
  return key;
}

constexpr std::size_t kLeastSecret = 16, kMostSecret = 4096;  // bytes
constexpr std::size_t kRandomBytes = 32;

}  // namespace

Digest sha256(std::string_view text) {
  const std::string padded = std::string(text) + padding(text.size());
  HashState state = kFirstState;
  for (std::size_t at = 0; at < padded.size(); at += kBlockBytes)
    absorb(state, std::string_view(padded).substr(at, kBlockBytes));
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view text) {
  std::string block = key.size() > kBlockBytes ? bytes_of(sha256(key)) : std::string(key);
  block.resize(kBlockBytes, '\0');
  const Digest inner = sha256(masked(block, 0x36) + std::string(text));
  return sha256(masked(block, 0x5c) + bytes_of(inner));
}

bool equal_in_constant_time(const Digest& one, const Digest& other) {
  volatile std::uint8_t difference = 0;  // volatile: no compiler may stop at the first one
  for (std::size_t i = 0; i < one.size(); ++i) difference = difference | (one[i] ^ other[i]);
  return difference == 0;
}

std::string bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

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
