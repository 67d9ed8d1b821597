#include "plan/torchrec/search/storage_hash.h"

#include <fmt/format.h>

#include "base/text.h"
#include "plan/torchrec/search/blake2b.h"

namespace shardsim::torchrec {
namespace {

constexpr std::size_t kDigestBytes = 7;

// As Python prints a double: "1.0", not "1".
std::string python_real(double value) {
  const std::string text = shortest(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string storage_hash_text(const std::string& fqn, ShardingType type, ComputeKernel kernel,
                              std::optional<double> load_factor, int shards) {
  return fmt::format("{}|{}|{}|{}|{}", fqn, name_of(type), name_of(kernel),
                     load_factor ? python_real(*load_factor) : "None", shards);
}

std::uint64_t storage_hash(const std::string& text) {
  std::uint64_t hash = 0;
  for (const std::uint8_t byte : blake2b(text, kDigestBytes)) hash = hash << 8 | byte;
  return hash;
}

}  // namespace shardsim::torchrec
