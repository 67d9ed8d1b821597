// The compact form of a Timeline: fields in the order of their declaration, numbers as the machine holds them (writer
// and reader are processes of one machine), lists and texts after their length.

#include <array>
#include <cstring>

#include "base/error.h"
#include "sim/timeline/timeline_fields.h"

namespace shardsim {
namespace {

constexpr std::string_view kMagic = "shardsim timeline bytes 3\n";

// One list of the parts serves both directions.
template <typename Visitor, typename AnyTimeline>
void visit_parts(Visitor& visit, AnyTimeline& timeline) {
  for_each_field(kHeadFields, [&](const auto& field) { visit(timeline.*field.member); });
  for_each_field(kRankFields, [&](const auto& field) { visit(timeline.*field.member); });
  visit(timeline.streams), visit(timeline.ops), visit(timeline.groups), visit(timeline.spans), visit(timeline.flow);
  visit(timeline.measured);
}

constexpr const auto& fields_of(const Span&) {
  return kSpanFields;
}
constexpr const auto& fields_of(const Timeline::OpInfo&) {
  return kOpFields;
}
constexpr const auto& fields_of(const Timeline::Measured&) {
  return kMeasuredFields;
}

class BytePacker {
 public:
  explicit BytePacker(std::string& out) : out_(out) {}

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const Number& number) {
    std::array<char, sizeof(Number)> raw;
    std::memcpy(raw.data(), &number, sizeof(Number));
    out_.append(raw.data(), raw.size());
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    out_ += text;
  }
  template <typename Item>
  void operator()(const std::vector<Item>& items) {
    (*this)(items.size());
    for (const Item& item : items) (*this)(item);
  }
  template <typename Value>
  void operator()(const std::map<std::string, Value>& entries) {
    (*this)(entries.size());
    for (const auto& [key, value] : entries) (*this)(key), (*this)(value);
  }
  template <typename Part>
  requires requires(const Part& part) { fields_of(part); }
  void operator()(const Part& part) {
    for_each_field(fields_of(part), [&](const auto& field) { (*this)(part.*field.member); });
  }

 private:
  std::string& out_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view rest) : rest_(rest) {}

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number& number) {
    const std::string_view raw = take(sizeof(Number));
    std::memcpy(&number, raw.data(), sizeof(Number));
  }
  void operator()(bool& flag) {
    const char raw = take(1)[0];
    if (raw != 0 && raw != 1) fail();
    flag = raw == 1;
  }
  void operator()(std::string& text) { text = take(length()); }
  template <typename Item>
  void operator()(std::vector<Item>& items) {
    items.resize(length());
    for (Item& item : items) (*this)(item);
  }
  template <typename Value>
  void operator()(std::map<std::string, Value>& entries) {
    for (std::size_t left = length(); left > 0; --left) {
      std::string key;
      (*this)(key);
      (*this)(entries[key]);
    }
  }
  template <typename Part>
  requires requires(Part& part) { fields_of(part); }
  void operator()(Part& part) {
    for_each_field(fields_of(part), [&](const auto& field) { (*this)(part.*field.member); });
  }

  void finish() const {
    if (!rest_.empty()) fail();
  }

  [[noreturn]] static void fail(const std::string& wrong = "its fields do not add up to its length") {
    throw run_error("a worker process sent a broken timeline: " + wrong, "Run again, with -j 1");
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  // No item is shorter than a byte, so a length beyond what is left is broken: nothing is allocated for it.
  std::size_t length() {
    std::size_t count = 0;
    (*this)(count);
    if (count > rest_.size()) fail();
    return count;
  }

  std::string_view rest_;
};

}  // namespace

std::string to_bytes(const Timeline& timeline) {
  std::string out(kMagic);
  BytePacker pack(out);
  visit_parts(pack, timeline);
  return out;
}

Timeline timeline_from_bytes(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) throw run_error("a worker process sent no timeline", "Run again, with -j 1");
  Unpacker unpack(bytes.substr(kMagic.size()));
  Timeline timeline;
  visit_parts(unpack, timeline);
  unpack.finish();
  if (const std::string wrong = timeline_fault(timeline); !wrong.empty()) Unpacker::fail(wrong);
  return timeline;
}

}  // namespace shardsim
