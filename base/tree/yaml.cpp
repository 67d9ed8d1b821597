#include "base/tree/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "base/encoding.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/tree_builder.h"

namespace shardsim {
namespace {

constexpr std::size_t kMaxAliased = 10'000;
constexpr std::size_t kMaxKey = 256;

// Makes a Tree of yaml-cpp's events. Events rather than its nodes: nodes hide duplicate keys, expand aliases without
// bound and take some 500 bytes a value before anyone can object.
class TreeHandler : public YAML::EventHandler {
 public:
  // `fixed` replaces the place of every event: text from the command line has no lines.
  TreeHandler(const std::string& source, const Place* fixed) : source_(source), fixed_(fixed), builder_(TreeLimits{}) {}

  Tree take() { return builder_.take(); }
  const std::optional<YAML::Mark>& last_quoted() const { return last_quoted_; }
  bool found() const { return documents_ > 0; }

  Place place(const YAML::Mark& mark) const {
    if (fixed_ != nullptr) return *fixed_;
    if (mark.is_null()) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw input_error(place(mark), "text after the end of the document, or a second one",
                        "Write one document per file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.wants_key()) refuse_key(mark);
    builder_.leaf(Tree::Kind::null, "", false, place(mark));
    keep(anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_tag(mark, tag);
    if (tag == "!") last_quoted_ = mark;
    if (builder_.wants_key()) return builder_.key(checked_key(mark, text, tag == "!"), place(mark));
    builder_.leaf(Tree::Kind::scalar, text, tag == "!", place(mark));
    keep(anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Tree::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Tree::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.wants_key()) refuse_key(mark);
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      throw input_error(place(mark), "an alias stands for a key, or for the value that contains it",
                        "A value cannot contain itself");
    }
    aliased_ += found->second.size;
    if (aliased_ > kMaxAliased) {
      throw input_error(place(mark), "aliases expand to over 10,000 values", "Use fewer aliases");
    }
    builder_.copy(found->second.tree, place(mark));
  }

 private:
  struct Anchored {
    Tree tree;
    std::size_t size;
  };

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw input_error(place(mark), "the YAML tag " + excerpt(tag), "Remove it: the key says what type its value has");
  }

  [[noreturn]] void refuse_key(const YAML::Mark& mark) const {
    throw input_error(place(mark), "a key is not plain text, or a bracket is not closed",
                      "Write KEY: VALUE with a name of a-z, 0-9 and _");
  }

  // Keys in quotes may be names, of tables for one, which keep their hyphens.
  std::string checked_key(const YAML::Mark& mark, const std::string& text, bool quoted) const {
    if (text.empty()) refuse_key(mark);
    if (text.size() > kMaxKey) {
      throw input_error(place(mark), "the key " + excerpt(text) + " is over 256 bytes", "Shorten it");
    }
    if (text == "<<") {
      throw input_error(place(mark), "the merge key '<<' is not supported",
                        "Use an alias for the whole value: KEY: *NAME");
    }
    return quoted ? text : as_key(text);
  }

  void open(Tree::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    if (builder_.wants_key()) refuse_key(mark);
    builder_.open(kind, place(mark));
    open_anchors_.push_back(anchor);
  }

  void close() {
    builder_.close();
    const YAML::anchor_t anchor = open_anchors_.back();
    open_anchors_.pop_back();
    keep(anchor);
  }

  // Only what an alias may expand to is worth a copy.
  void keep(YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    const Tree& tree = builder_.last();
    const std::size_t size = size_of(tree, kMaxAliased);
    const bool small = size <= kMaxAliased;
    if (small) builder_.spend(size, tree.place);
    anchored_[anchor] = {small ? tree : Tree{}, size};
  }

  const std::string& source_;
  const Place* fixed_;
  TreeBuilder builder_;
  int documents_ = 0;
  std::optional<YAML::Mark> last_quoted_;  // where the last text in quotes begins, or what YAML writes before it
  std::map<YAML::anchor_t, Anchored> anchored_;
  std::vector<YAML::anchor_t> open_anchors_;
  std::size_t aliased_ = 0;
};

Place place_at(std::string_view text, std::size_t offset, const std::string& source) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t column = offset - (before.find_last_of('\n') + 1);  // npos + 1 is 0
  return {source, static_cast<int>(lines) + 1, static_cast<int>(column) + 1};
}

void refuse_binary(std::string_view text, const std::string& source, const Place* fixed) {
  if (text.size() > kMaxYamlFile) throw input_error({source}, "over 64 MiB of YAML", "Is this the right file?");
  std::size_t bad = 0;
  if (is_plain_text(text, bad)) return;
  if (const auto format = binary_format(text); format && fixed == nullptr)
    throw input_error({source}, fmt::format("the file is {}", format->name), std::string(format->remedy));
  throw input_error(fixed == nullptr ? place_at(text, bad, source) : *fixed, "binary, not text",
                    "YAML files are UTF-8 text without control characters");
}

// yaml-cpp holds back all tokens of a flow list or map that might turn out to be a key: at 200 bytes a token it would
// run out of memory where the limits on values cannot see it yet. So both are bounded first, roughly: brackets in texts
// and comments count too, and no honest file comes near.
void refuse_token_flood(std::string_view text, const std::string& source, const Place* fixed) {
  constexpr std::int64_t kMaxUnclosed = 200, kMaxTokens = 3'000'000;
  std::int64_t unclosed = 0, tokens = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[' || c == '{') ++unclosed;
    if ((c == ']' || c == '}') && unclosed > 0) --unclosed;
    if (std::string_view(",[]{}?:&*!\"'").find(c) != std::string_view::npos) ++tokens;
    if (unclosed <= kMaxUnclosed && tokens <= kMaxTokens) continue;
    throw input_error(fixed == nullptr ? place_at(text, at, source) : *fixed,
                      tokens > kMaxTokens ? "too many values for one YAML file" : "nested too deeply, or not YAML",
                      tokens > kMaxTokens ? "Write large tables as data files" : "Close the brackets");
  }
}

// True when a text in quotes begins here and its quote does not close. The anchor or tag that YAML allows in front of
// it contains no quotes.
bool is_unclosed(std::string_view text) {
  while (!text.empty() &&
         (text[0] == '&' || text[0] == '!' || std::isspace(static_cast<unsigned char>(text[0])) != 0)) {
    const std::size_t blank = text.find_first_of(" \t\r\n");
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) return false;
  const char quote = text[0];
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || text.substr(at + 1, 1) != "'") return false;
      ++at;  // '' stands for one '
    }
  }
  return true;
}

// yaml-cpp takes the end of the file for the end of a text whose quote is not closed, if a line ends there: all that
// follows the quote would be swallowed. Only the last one can be such a text, for any other ends before the next.
void refuse_unclosed(const TreeHandler& handler, std::string_view text) {
  const std::optional<YAML::Mark>& mark = handler.last_quoted();
  if (!mark || !is_unclosed(text.substr(std::min(static_cast<std::size_t>(mark->pos), text.size())))) return;
  throw input_error(handler.place(*mark), "the quote of a text is not closed", "Close it where the text ends");
}

// yaml-cpp's objection in words for people; its own messages speak of its grammar.
std::string yaml_fault(std::string_view said) {
  namespace Msg = YAML::ErrorMsg;
  static const std::pair<std::string_view, const char*> kFaults[] = {
      {Msg::END_OF_MAP, "a line that is no KEY: VALUE of the map above it, or is not indented as that is"},
      {Msg::END_OF_SEQ, "a line that is no item of the list above it, or is not indented as that is"},
      {Msg::END_OF_MAP_FLOW, "a '{' that is not closed, or lacks a comma"},
      {Msg::END_OF_SEQ_FLOW, "a '[' that is not closed, or lacks a comma"},
      {Msg::FLOW_END, "a bracket closes that was not opened"},
      {Msg::EOF_IN_SCALAR, "a quoted text is not closed"},
      {Msg::DOC_IN_SCALAR, "a quoted text is not closed before the document ends"},
      {Msg::TAB_IN_INDENTATION, "a tab where blanks indent"},
      {Msg::MAP_VALUE, "a second ': ' on one line, or a value where none may stand"},
      {Msg::MAP_KEY, "a key where none may stand"},
      {Msg::BLOCK_ENTRY, "an item '- ' where none may stand"},
      {Msg::UNKNOWN_TOKEN, "a character that begins no value: put the text in quotes"},
      {Msg::UNKNOWN_ANCHOR, "an alias of a name that no '&NAME' above gives"},
      {Msg::INVALID_ESCAPE, "a text holds an escape that YAML does not know"},
      {Msg::INVALID_HEX, "a text holds an escape without its digits"},
      {Msg::INVALID_UNICODE, "a text holds an escape of no character"}};
  for (const auto& [begins, fault] : kFaults)
    if (said.starts_with(begins)) return fault;
  if (said.find("anchor") != said.npos || said.find("alias") != said.npos)
    return "an anchor or an alias without its name";
  if (said.find("tag") != said.npos || said.find("directive") != said.npos) return "a tag or a directive";
  return "the text is against YAML's rules here";
}

// The one document of `text`; nothing when there is none.
std::optional<Tree> parse(std::string_view text, const std::string& source, const Place* fixed) {
  refuse_binary(text, source, fixed);
  refuse_token_flood(text, source, fixed);
  text = without_byte_order_mark(text);
  std::istringstream stream{std::string(text)};
  TreeHandler handler(source, fixed);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::Exception& error) {
    throw input_error(handler.place(error.mark), "not YAML: " + yaml_fault(error.msg),
                      "Indent with blanks, close brackets and quotes, write KEY: VALUE");
  }
  refuse_unclosed(handler, text);
  if (!handler.found()) return std::nullopt;
  return handler.take();
}

Tree parsed_file(std::string_view text, const std::string& source) {
  std::optional<Tree> tree = parse(text, source, nullptr);
  if (!tree || tree->kind == Tree::Kind::null) throw input_error({source}, "the file is empty", "It must hold a map");
  if (tree->kind != Tree::Kind::map) {
    throw input_error(tree->place, "the file must hold a map, but holds " + kind_name(tree->kind),
                      "Write KEY: VALUE lines");
  }
  return std::move(*tree);
}

// The files that were parsed last, each with the text that was parsed, which is compared: a process that answers many
// questions reads the same clusters and workloads for each, and to copy a tree costs much less than to parse its text.
class ParsedFiles {
 public:
  Tree tree_of(const std::string& path, std::string_view text) {
    if (const std::shared_ptr<const Tree> known = find(path, text)) return *known;
    Tree tree = parsed_file(text, path);
    if (text.size() <= kMostOfOne) keep({path, std::string(text), std::make_shared<const Tree>(tree)});
    return tree;
  }

 private:
  struct Parsed {
    std::string path, text;
    std::shared_ptr<const Tree> tree;
  };

  static constexpr std::size_t kMostFiles = 32;
  // Bytes of text: a pool of hundreds of tables is kept, too, for each --set asks for the files of a scenario again.
  static constexpr std::size_t kMostOfOne = std::size_t{1} << 19, kMostOfAll = std::size_t{1} << 21;

  std::shared_ptr<const Tree> find(const std::string& path, std::string_view text) {
    const auto known = std::ranges::find(files_, path, &Parsed::path);
    return known == files_.end() || known->text != text ? nullptr : known->tree;
  }

  void keep(Parsed parsed) {
    const auto known = std::ranges::find(files_, parsed.path, &Parsed::path);
    if (known != files_.end()) drop(known);
    kept_ += parsed.text.size();
    files_.push_back(std::move(parsed));
    while (files_.size() > kMostFiles || kept_ > kMostOfAll) drop(files_.begin());
  }

  void drop(const std::deque<Parsed>::iterator& file) {
    kept_ -= file->text.size();
    files_.erase(file);
  }

  std::deque<Parsed> files_;  // the one that was parsed first in front
  std::size_t kept_ = 0;      // bytes of their texts
};

}  // namespace

Tree parse_yaml(std::string_view text, const std::string& source) {
  thread_local ParsedFiles files;  // no lock, which a process that is forked meanwhile would never get
  return files.tree_of(source, text);
}

Tree read_yaml_file(const std::string& path) {
  return parse_yaml(read_file(path, kMaxYamlFile), path);
}

Tree parse_yaml_value(std::string_view text, const Place& place) {
  std::optional<Tree> tree = parse(text, place.source, &place);
  if (tree) return std::move(*tree);
  Tree nothing;
  nothing.place = place;
  return nothing;
}

}  // namespace shardsim
