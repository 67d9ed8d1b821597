#include "tests/plan/torchrec/golden/storage_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace shardsim::golden {
namespace {

using State = std::array<std::uint64_t, 8>;
constexpr std::size_t kBlock = 128;

constexpr State kStart = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                          0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

constexpr std::uint8_t kSigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

using Words = std::array<std::uint64_t, 16>;

void stir(Words& v, int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

void stir_round(Words& v, const Words& m, const std::uint8_t (&s)[16]) {
  for (int i = 0; i < 4; ++i) stir(v, i, i + 4, i + 8, i + 12, m[s[2 * i]], m[s[2 * i + 1]]);
  for (int i = 0; i < 4; ++i) {
    stir(v, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
  }
}

Words words_of(std::string_view block) {
  Words words{};
  for (std::size_t i = 0; i < block.size(); ++i) {
    words[i / 8] |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(block[i])) << (8 * (i % 8));
  }
  return words;
}

void compress(State& h, std::string_view block, std::uint64_t bytes_so_far, bool last) {
  const Words m = words_of(block);
  Words v{};
  std::copy(h.begin(), h.end(), v.begin());
  std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
  v[12] ^= bytes_so_far;
  if (last) v[14] = ~v[14];
  for (int round = 0; round < 12; ++round) stir_round(v, m, kSigma[round % 10]);
  for (std::size_t i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

// BLAKE2b (RFC 7693) of a text without key; `length` bytes, 1 to 64.
std::vector<std::uint8_t> blake2b(std::string_view text, std::size_t length) {
  State h = kStart;
  h[0] ^= 0x01010000 ^ length;
  std::uint64_t done = 0;
  while (text.size() > kBlock) {
    compress(h, text.substr(0, kBlock), done += kBlock, false);
    text.remove_prefix(kBlock);
  }
  compress(h, text, done + text.size(), true);
  std::vector<std::uint8_t> digest;
  for (std::size_t i = 0; i < length; ++i) digest.push_back(static_cast<std::uint8_t>(h[i / 8] >> (8 * (i % 8))));
  return digest;
}

constexpr std::size_t kDigestBytes = 7;

// As Python prints a double: "1.0", not "1".
std::string python_real(double value) {
  const std::string text = shortest(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string storage_hash_text(const std::string& fqn, torchrec::ShardingType type, torchrec::ComputeKernel kernel,
                              std::optional<double> load_factor, int shards) {
  return fmt::format("{}|{}|{}|{}|{}", fqn, torchrec::name_of(type), torchrec::name_of(kernel),
                     load_factor ? python_real(*load_factor) : "None", shards);
}

std::uint64_t storage_hash(const std::string& text) {
  std::uint64_t hash = 0;
  for (const std::uint8_t byte : blake2b(text, kDigestBytes)) hash = hash << 8 | byte;
  return hash;
}

}  // namespace shardsim::golden
