#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>
#include <string_view>

#include "base/encoding.h"

namespace shardsim {
namespace {

// Levenshtein distance, one row at a time; `most` where it is that or more, which is known as soon as a row has nothing
// below it: a message may compare a name with a hundred thousand others.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= most) return most;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
    if (*std::ranges::min_element(row) >= most) return most;
  }
  return row.back();
}

// The longest name worth comparing: a text longer than any name of ours is no misspelling of one.
constexpr std::size_t kLongestName = 256;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Characters that steer a terminal, hide, or turn the order of what is written around them: another text would be read
// than stands there. C1 controls, marks of direction, separators of lines, characters without width (Unicode 15, 4.4
// and 23.2).
bool misleads(std::string_view character) {
  if (character.size() == 2) return character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
  if (character.size() != 3) return false;
  if (character == kByteOrderMark) return true;
  if (character[0] != '\xe2') return false;
  const int code = 0x2000 + ((static_cast<unsigned char>(character[1]) & 0x3f) << 6) +
                   (static_cast<unsigned char>(character[2]) & 0x3f);
  return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f);
}

// The character at `at`, which goes on behind it; "?" for what is none, or must not be shown.
std::string_view shown_character(std::string_view text, std::size_t& at) {
  const std::size_t length = character_length(text, at);
  const std::string_view character = text.substr(at, std::max<std::size_t>(length, 1));
  at += character.size();
  return length == 0 || is_control(character[0]) || misleads(character) ? "?" : character;
}

constexpr std::size_t kLongestExcerpt = 60;  // characters
constexpr std::size_t kMostNames = 100;      // that one message lists

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == kMostNames) break;
    some.push_back(name.size() <= kLongestExcerpt ? name : excerpt(name));
  }
  const std::string more =
      fmt::format(" and {} more", with_thousands(static_cast<std::int64_t>(names.size() - some.size())));
  return join(some) + (some.size() < names.size() ? more : "");
}

// Returns for each n whether the first n characters of the pattern fit the whole text.
std::vector<bool> fitting_parts(std::string_view text, std::string_view pattern) {
  const auto skip_stars = [&](std::vector<bool>& fits) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (fits[i] && pattern[i] == '*') fits[i + 1] = true;
    }
  };
  std::vector<bool> fits(pattern.size() + 1);
  fits[0] = true;
  skip_stars(fits);
  for (const char c : text) {
    std::vector<bool> next(fits.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (fits[i] && pattern[i] == '*') next[i] = true;
      if (fits[i] && (pattern[i] == '?' || pattern[i] == c)) next[i + 1] = true;
    }
    skip_stars(next);
    fits = std::move(next);
  }
  return fits;
}

}  // namespace

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string first_names(const std::vector<std::string>& names, std::size_t shown) {
  if (names.size() <= shown) return join(names);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  return fmt::format("{} and {} more", join({names.begin(), end}), names.size() - shown);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1) {
    parts.emplace_back(text.substr(begin, end - begin));
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongestName) return "";
  // One slip in three letters is a misspelling, more is another word.
  std::size_t least = std::max<std::size_t>(1, (name.size() + 1) / 3) + 1;
  std::string best;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t distance = edit_distance(name, candidate, least);
    if (distance >= least || distance >= name.size()) continue;  // nothing of the name would be left
    least = distance;
    best = candidate;
  }
  return best;
}

std::string as_key(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

bool same_but_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

namespace {

bool is_word_end(char c) {
  return c == '-' || c == '_' || c == '.' || c == '/' || c == ' ';
}

// The known names of which this is the first word, as "H100" is of "H100-SXM5-80GB": it is short, and not misspelt.
std::vector<std::string> longer_names(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kMostLonger = 3;
  std::vector<std::string> longer;
  for (const std::string& candidate : known) {
    if (name.empty() || candidate.size() <= name.size() || !is_word_end(candidate[name.size()])) continue;
    if (!same_but_case(name, std::string_view(candidate).substr(0, name.size()))) continue;
    longer.push_back("'" + candidate + "'");
    if (longer.size() == kMostLonger) break;
  }
  return longer;
}

}  // namespace

std::string known_names_hint(std::string_view name, const std::vector<std::string>& known) {
  if (known.empty()) return "None is known here.";
  const std::string list = "Known: " + some_of(known) + ".";
  if (const std::vector<std::string> longer = longer_names(name, known); !longer.empty())
    return fmt::format("Did you mean {}? {}", join(longer, " or "), list);
  const std::string near = nearest(name, known);
  return near.empty() ? list : fmt::format("Did you mean '{}'? {}", near, list);
}

// Each star takes as little as it may; where the rest then does not fit, the last star takes one character more.
bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, in_pattern = 0, star = std::string_view::npos, behind_star = 0;
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      behind_star = at;
    } else if (in_pattern < pattern.size() && (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at])) {
      ++at, ++in_pattern;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

std::vector<std::size_t> fitting_names(const std::vector<std::string>& names, std::string_view pattern) {
  const auto equal = std::find(names.begin(), names.end(), pattern);
  if (equal != names.end()) return {static_cast<std::size_t>(equal - names.begin())};
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (fits_pattern(names[i], pattern)) fitting.push_back(i);
  }
  return fitting;
}

bool may_fit_after(std::string_view start, std::string_view pattern) {
  const std::vector<bool> fits = fitting_parts(start, pattern);
  return std::find(fits.begin(), fits.end(), true) != fits.end();
}

std::string excerpt(std::string_view text) {
  std::string shown = "\"";
  std::size_t at = 0;
  for (std::size_t characters = 0; at < text.size() && characters < kLongestExcerpt; ++characters)
    shown += shown_character(text, at);
  return shown + (at < text.size() ? "...\"" : "\"");
}

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) shown += shown_character(text, at);
  return shown;
}

int display_width(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string clipped(const std::string& text, int width) {
  std::string result = printable(text);
  if (display_width(result) <= width) return result;
  int kept = 0;
  std::size_t end = 0;
  while (end < result.size() && (continues_character(result[end]) || ++kept < width)) ++end;
  return width > 0 ? result.substr(0, end) + "~" : "";
}

std::string wrapped(const std::string& text, int width, const std::string& indent) {
  std::istringstream words(printable(text));
  std::string result, line = indent, word;
  while (words >> word) {
    const bool first = line.size() == indent.size();
    if (!first && display_width(line) + 1 + display_width(word) > width) {
      result += line + "\n";
      line = indent;
    }
    line += (line.size() == indent.size() ? "" : " ") + word;
    if (display_width(line) > width) line = clipped(line, width);
  }
  return line.size() > indent.size() ? result + line + "\n" : result;
}

std::string with_thousands(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string shortest(double value) {
  return fmt::format("{}", value);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string shell_quoted(const std::string& word) {
  return "'" + replaced(word, "'", "'\\''") + "'";
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "_-./+,:@%=";
  const bool plain = std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
  });
  return plain && !word.empty() ? word : shell_quoted(word);
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') {
      plain += text[at];
      continue;
    }
    at = text.find_first_of("ABCDEFGHJKSTfhlmnsu", at + 2);
    if (at == std::string_view::npos) break;
  }
  return plain;
}

}  // namespace shardsim
