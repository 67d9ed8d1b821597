#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

// "a, b and 3 more": the first `shown` names and how many others there are; all of them where there are no others.
std::string first_names(const std::vector<std::string>& names, std::size_t shown);

// Parts between separators; "a//b" has an empty part.
std::vector<std::string> split(std::string_view text, char separator);

// Without the blanks at both ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

// The whole number that a text is, with nothing around it; nothing where it is none, or none of that type.
template <std::integral Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// A key as maps hold it: read from YAML, it has underscores for hyphens, where labels and names are as they were
// written.
std::string as_key(std::string name);

// Decimal digits and nothing else.
inline bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// True when `value` is one of the list.
template <typename List, typename Value>
bool is_one_of(const List& list, const Value& value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

// True when the byte of UTF-8 is none that begins a character.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// True when they are the same but for upper and lower case of A to Z.
bool same_but_case(std::string_view a, std::string_view b);

// The known name with the smallest edit distance, or "" when none is near enough to be a likely misspelling.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

// "Did you mean 'x'? Known: a, b, c." - the remedy of every unknown-name error; of more than 100 names the first ones.
std::string known_names_hint(std::string_view name, const std::vector<std::string>& known);

// True when the pattern fits the whole text: * stands for any characters, ? for one, every other character for itself.
bool fits_pattern(std::string_view text, std::string_view pattern);

// Positions of the names that a pattern fits; of the one that equals it alone, where there is one.
std::vector<std::size_t> fitting_names(const std::vector<std::string>& names, std::string_view pattern);

// True when the pattern fits some text that begins with `start`.
bool may_fit_after(std::string_view start, std::string_view pattern);

// The text as a message may show it: in double quotes, printable, at most 60 characters.
std::string excerpt(std::string_view text);

// On one line, with "?" in place of what is not UTF-8, of control characters, and of characters that are invisible or
// change the direction of the text.
std::string printable(std::string_view text);

// Columns that a text takes on a terminal, one per code point.
int display_width(const std::string& text);

// Text without control characters, at most `width` columns wide.
std::string clipped(const std::string& text, int width);

// Words of one paragraph on lines of at most `width` columns, each line led by `indent` and ending in a line feed.
std::string wrapped(const std::string& text, int width, const std::string& indent);

// 1234567 as "1,234,567".
std::string with_thousands(std::int64_t number);

// "1 table", "8 tables".
std::string counted(std::size_t count, std::string_view noun);

// "Volta" of "volta".
std::string capital(std::string text);

// Shortest text that reads back as the same double, decimal point in every locale.
std::string shortest(double value);

// `text` with every `from`, which is not empty, made `to`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

// The word in single quotes, as shells of the family of sh read it back.
std::string shell_quoted(const std::string& word);

// The same, in quotes only where a shell would not read the word as it stands.
std::string shell_word(const std::string& word);

// A text as a terminal shows it without its colours: escape sequences "ESC [ ... letter" are left out.
std::string without_escapes(std::string_view text);

// U+FEFF in UTF-8, with which some editors begin a file.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

// Returns the first character that is not a blank, after a byte order mark; 0 when the file has none. It tells one kind
// of file from another before the file is read.
inline char first_character(std::string_view text) {
  text = without_byte_order_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? '\0' : text[first];
}

// FNV-1a, 64 bits, over the bytes of `text`. To go on where an earlier part ended, give what that part gave as `hash`.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace shardsim
