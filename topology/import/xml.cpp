#include "topology/import/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostNesting = 64;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':';
}

// Walks over the text and knows where it stands.
class Cursor {
 public:
  Cursor(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  Place place() const { return {source_, line_, static_cast<int>(at_ - line_start_) + 1}; }

  void advance(std::size_t count = 1) {
    for (; count > 0 && !at_end(); --count, ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_start_ = at_ + 1;
    }
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    advance(token.size());
    return true;
  }
  void skip_space() {
    while (is_space(peek())) advance();
  }
  // Past the next `token`; an error naming `what` when there is none.
  std::string_view take_until(std::string_view token, const std::string& what) {
    const std::size_t end = text_.find(token, at_);
    if (end == std::string_view::npos) refuse(what + " is not closed");
    const std::string_view taken = text_.substr(at_, end - at_);
    advance(taken.size() + token.size());
    return taken;
  }
  std::string take_name(const std::string& what) {
    const std::size_t begin = at_;
    while (is_name_char(peek())) advance();
    if (at_ == begin) refuse(fmt::format("{} is due here, found {}", what, excerpt(text_.substr(at_, 1))));
    return std::string(text_.substr(begin, at_ - begin));
  }
  [[noreturn]] void refuse(const std::string& wrong) const { refuse_at(place(), wrong); }
  [[noreturn]] static void refuse_at(const Place& place, const std::string& wrong) {
    throw input_error(place, "malformed XML: " + wrong, "Is the file complete and as its writer left it?");
  }

 private:
  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

void append_utf8(std::string& text, unsigned code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::optional<unsigned> character_number(std::string_view entity) {
  if (!entity.starts_with('#')) return std::nullopt;
  entity.remove_prefix(1);
  const bool hexadecimal = entity.starts_with('x');
  if (hexadecimal) entity.remove_prefix(1);
  unsigned code = 0;
  const auto [end, fault] = std::from_chars(entity.data(), entity.data() + entity.size(), code, hexadecimal ? 16 : 10);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (fault != std::errc{} || end != entity.data() + entity.size() || code < 0x20 || code > 0x10ffff || is_surrogate) {
    return std::nullopt;
  }
  return code;
}

void append_entity(std::string& text, std::string_view entity, const Place& place) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, character] : kNamed) {
    if (entity != name) continue;
    text += character;
    return;
  }
  const auto code = character_number(entity);
  if (!code) Cursor::refuse_at(place, fmt::format("unknown entity {}", excerpt(entity)));
  append_utf8(text, *code);
}

std::string without_entities(std::string_view raw, const Place& place) {
  std::string text;
  while (!raw.empty()) {
    const std::size_t ampersand = raw.find('&');
    text += raw.substr(0, ampersand);
    if (ampersand == std::string_view::npos) break;
    raw.remove_prefix(ampersand + 1);
    const std::size_t end = raw.find(';');
    if (end == std::string_view::npos) Cursor::refuse_at(place, "an entity without its semicolon");
    append_entity(text, raw.substr(0, end), place);
    raw.remove_prefix(end + 1);
  }
  return text;
}

void read_attribute(Cursor& cursor, XmlElement& element) {
  const Place place = cursor.place();
  std::string name = cursor.take_name("an attribute");
  if (element.attribute(name) != nullptr) Cursor::refuse_at(place, fmt::format("the attribute '{}' is twice", name));
  cursor.skip_space();
  if (!cursor.take("=")) cursor.refuse(fmt::format("'=' is due after the attribute '{}'", name));
  cursor.skip_space();
  const char quote = cursor.peek();
  if (quote != '"' && quote != '\'') cursor.refuse(fmt::format("the value of '{}' is not in quotes", name));
  cursor.advance();
  const std::string_view raw = cursor.take_until(std::string_view(&quote, 1), fmt::format("the value of '{}'", name));
  if (raw.find('<') != std::string_view::npos) Cursor::refuse_at(place, fmt::format("'<' in the value of '{}'", name));
  element.attributes.emplace_back(std::move(name), without_entities(raw, place));
}

// After "<". True when the element may have children.
bool read_start_tag(Cursor& cursor, XmlElement& element) {
  element.name = cursor.take_name("an element");
  for (;;) {
    const bool has_space = is_space(cursor.peek());
    cursor.skip_space();
    if (cursor.take("/>")) return false;
    if (cursor.take(">")) return true;
    if (cursor.at_end()) Cursor::refuse_at(element.place, fmt::format("<{} is not closed", element.name));
    if (!has_space) cursor.refuse("a blank is due before an attribute");
    read_attribute(cursor, element);
  }
}

void read_end_tag(Cursor& cursor, const Place& place, std::vector<XmlElement>& open) {
  const std::string name = cursor.take_name("an element");
  cursor.skip_space();
  if (!cursor.take(">")) cursor.refuse(fmt::format("</{} is not closed", name));
  if (open.size() < 2) Cursor::refuse_at(place, fmt::format("</{}> without its start", name));
  if (open.back().name != name) {
    Cursor::refuse_at(
        place, fmt::format("</{}> where </{}> of line {} is due", name, open.back().name, open.back().place.line));
  }
  XmlElement done = std::move(open.back());
  open.pop_back();
  open.back().children.push_back(std::move(done));
}

bool skip_other_markup(Cursor& cursor) {
  if (cursor.take("<!--")) return cursor.take_until("-->", "a comment"), true;
  if (cursor.take("<?")) return cursor.take_until("?>", "a declaration"), true;
  if (!cursor.take("<!DOCTYPE")) return false;
  if (cursor.take_until(">", "DOCTYPE").find('[') != std::string_view::npos) {
    cursor.refuse("a DOCTYPE with definitions of its own is not read");
  }
  return true;
}

void read_markup(Cursor& cursor, std::vector<XmlElement>& open) {
  if (skip_other_markup(cursor)) return;
  const Place place = cursor.place();
  if (cursor.take("</")) return read_end_tag(cursor, place, open);
  cursor.advance();
  if (open.size() == 1 && !open.front().children.empty()) Cursor::refuse_at(place, "a second root element");
  XmlElement element;
  element.place = place;
  const bool may_have_children = read_start_tag(cursor, element);
  if (!may_have_children) return open.back().children.push_back(std::move(element));
  if (open.size() > kMostNesting) Cursor::refuse_at(place, fmt::format("nested over {} deep", kMostNesting));
  open.push_back(std::move(element));
}

}  // namespace

const std::string* XmlElement::attribute(std::string_view key) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == key; });
  return found == attributes.end() ? nullptr : &found->second;
}

XmlElement parse_xml(std::string_view text, const std::string& source) {
  std::size_t bad_offset = 0;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Cursor cursor(text, source);
  if (!is_plain_text(text, bad_offset)) {
    cursor.advance(bad_offset);
    cursor.refuse("a byte that no text has");
  }
  std::vector<XmlElement> open(1);  // the document, then every element not yet closed
  while (!cursor.at_end()) {
    if (cursor.peek() == '<') {
      read_markup(cursor, open);
    } else if (open.size() == 1 && !is_space(cursor.peek())) {
      cursor.refuse("text outside the root element");
    } else {
      cursor.advance();
    }
  }
  if (open.size() > 1) Cursor::refuse_at(open.back().place, fmt::format("<{}> is not closed", open.back().name));
  if (open.front().children.empty()) cursor.refuse("no element at all");
  return std::move(open.front().children.front());
}

}  // namespace shardsim
