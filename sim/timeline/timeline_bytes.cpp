// The compact form of a Timeline: fields in the order of their declaration, numbers as the machine holds them (writer
// and reader are processes of one machine), lists and texts after their length.

#include <array>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "sim/timeline/timeline.h"

namespace shardsim {
namespace {

constexpr std::string_view kMagic = "shardsim timeline bytes 2\n";

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
  void operator()(const Span& span);
  void operator()(const Timeline::OpInfo& op);
  void operator()(const Timeline::Measured& measured);

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
  void operator()(Span& span);
  void operator()(Timeline::OpInfo& op);
  void operator()(Timeline::Measured& measured);

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

// One list of the fields serves both directions.
template <typename Visitor, typename AnySpan>
void visit_span(Visitor& visit, AnySpan& span) {
  visit(span.start_us), visit(span.end_us), visit(span.rank), visit(span.stream), visit(span.op);
  visit(span.iteration), visit(span.bytes);
}

template <typename Visitor, typename AnyOp>
void visit_op(Visitor& visit, AnyOp& op) {
  visit(op.name), visit(op.op_class), visit(op.alone_us), visit(op.group), visit(op.dtype), visit(op.algorithm);
}

template <typename Visitor, typename AnyMeasured>
void visit_measured(Visitor& visit, AnyMeasured& measured) {
  visit(measured.hosts), visit(measured.device), visit(measured.driver), visit(measured.cuda), visit(measured.nccl);
  visit(measured.transport), visit(measured.clock_residual_us);
}

template <typename Visitor, typename AnyTimeline>
void visit_timeline(Visitor& visit, AnyTimeline& timeline) {
  visit(timeline.kind), visit(timeline.complete), visit(timeline.world_size), visit(timeline.ranks_per_node);
  visit(timeline.streams), visit(timeline.ops), visit(timeline.groups), visit(timeline.spans);
  visit(timeline.hbm_bytes), visit(timeline.bytes_out), visit(timeline.bytes_in), visit(timeline.flow);
  visit(timeline.iteration_ms), visit(timeline.iterations_run), visit(timeline.steady);
  visit(timeline.measured);
}

void BytePacker::operator()(const Span& span) {
  visit_span(*this, span);
}
void BytePacker::operator()(const Timeline::OpInfo& op) {
  visit_op(*this, op);
}
void BytePacker::operator()(const Timeline::Measured& measured) {
  visit_measured(*this, measured);
}
void Unpacker::operator()(Span& span) {
  visit_span(*this, span);
}
void Unpacker::operator()(Timeline::OpInfo& op) {
  visit_op(*this, op);
}
void Unpacker::operator()(Timeline::Measured& measured) {
  visit_measured(*this, measured);
}

}  // namespace

std::string to_bytes(const Timeline& timeline) {
  std::string out(kMagic);
  BytePacker pack(out);
  visit_timeline(pack, timeline);
  return out;
}

Timeline timeline_from_bytes(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) throw run_error("a worker process sent no timeline", "Run again, with -j 1");
  Unpacker unpack(bytes.substr(kMagic.size()));
  Timeline timeline;
  visit_timeline(unpack, timeline);
  unpack.finish();
  if (const std::string wrong = timeline_fault(timeline); !wrong.empty()) Unpacker::fail(wrong);
  return timeline;
}

}  // namespace shardsim
