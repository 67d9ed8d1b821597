#include "validate/microbench/nccl_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace shardsim {
namespace {

// By the numbers that NCCL's header gives them (src/include/nccl_common.h), as older versions print them.
constexpr std::array<std::string_view, 7> kAlgorithms{"Tree",     "Ring", "CollnetDirect", "CollnetChain", "NVLS",
                                                      "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "Simple"};

// The number at the beginning of a text, which then begins behind it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_word(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

bool take(std::string_view& text, std::string_view expected) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Letters and digits in small letters: newer versions print COLLNET_DIRECT.
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

template <typename Names>
std::string name_of(std::string_view word, const Names& names) {
  std::string_view rest = word;
  if (const auto number = take_number(rest); number && rest.empty())
    return *number < static_cast<std::int64_t>(names.size()) ? std::string(names[static_cast<std::size_t>(*number)])
                                                             : std::string(word);
  const auto known = std::ranges::find(names, plain(word), plain);
  return std::string(known == names.end() ? word : *known);
}

// "channel{Lo..Hi}={0..15}" is 16 channels; 0 where nothing of the kind follows.
int channels_in(std::string_view text) {
  if (!take(text, "channel{Lo..Hi}={")) return 0;
  const auto low = take_number(text);
  if (!low || !take(text, "..")) return 0;
  const auto high = take_number(text);
  constexpr std::int64_t kMost = 4096;  // NCCL has 64
  return high && *high >= *low && *high < kMost ? static_cast<int>(*high - *low + 1) : 0;
}

// The part of a line behind "NCCL INFO ", where "[COLLECTIVE:] N Bytes -> Algo A proto P ..." is meant.
std::optional<NcclChoice> choice_in(std::string_view text) {
  NcclChoice choice;
  const std::size_t colon = text.find(':');
  const std::size_t arrow = text.find(" Bytes -> ");
  if (arrow == text.npos) return std::nullopt;
  if (colon < arrow) {
    choice.collective = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const auto bytes = take_number(text);
  if (!bytes || !take(text, "Bytes -> Algo ")) return std::nullopt;
  choice.bytes = *bytes;
  choice.algorithm = name_of(take_word(text), kAlgorithms);
  if (choice.algorithm.empty() || !take(text, "proto ")) return std::nullopt;
  choice.protocol = name_of(take_word(text), kProtocols);
  if (choice.protocol.empty()) return std::nullopt;
  choice.channels = channels_in(text);
  return choice;
}

// "24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer"; older versions
// leave some of these out.
void read_channels(std::string_view text, NcclLog& log) {
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto count = take_number(part);
    constexpr std::int64_t kMost = 4096;
    if (!count || *count > kMost) return;
    if (take(part, "p2p channels per peer")) {
      log.p2p_channels_per_peer = static_cast<int>(*count);
    } else if (take(part, "p2p channels")) {
      log.p2p_channels = static_cast<int>(*count);
    }
  }
}

std::string chosen_text(const NcclChoice& choice) {
  std::string text = choice.algorithm + ", " + choice.protocol;
  if (choice.channels == 0) return text + ", channels unknown";
  return text + fmt::format(", {} channel{}", choice.channels, choice.channels == 1 ? "" : "s");
}

}  // namespace

NcclLog read_nccl_log(std::string_view text) {
  constexpr std::string_view kInfo = "NCCL INFO ";
  NcclLog log;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t info = line.find(kInfo);
    if (info == line.npos) continue;
    line.remove_prefix(info + kInfo.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto choice = choice_in(line)) log.choices.push_back(*std::move(choice));
    if (line.find(" p2p channels") != line.npos) read_channels(line, log);
  }
  return log;
}

std::string nccl_choices_text(const NcclLog& log, const std::vector<std::int64_t>& sizes) {
  std::string text = "# what NCCL chose, by its log of one call each that was not timed:\n";
  for (const std::int64_t bytes : sizes) {
    const auto choice = std::ranges::find_if(log.choices, [&](const NcclChoice& one) {
      return one.bytes == bytes && (one.collective.empty() || one.collective == "AllReduce");
    });
    text += fmt::format("# - all_reduce of {} B: {}\n", bytes,
                        choice == log.choices.end() ? "unknown" : chosen_text(*choice));
  }
  return text + "# - alltoall: " +
         (log.p2p_channels > 0 ? fmt::format("sends and receives over {} channels, at most {} between two ranks\n",
                                             log.p2p_channels, log.p2p_channels_per_peer)
                               : std::string("unknown\n"));
}

}  // namespace shardsim
