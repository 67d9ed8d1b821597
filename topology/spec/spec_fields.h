#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/exact_text.h"

namespace shardsim {

// The text of a cluster file as it grows: keeps the indentation and knows which values state their source.
class SpecWriter {
 public:
  explicit SpecWriter(const std::vector<SourcedValue>& sources) : sources_(sources) {}

  const std::string& text() const { return text_; }
  bool is_sourced(const std::string& key) const { return source_of(path_of(key)) != nullptr; }

  void open(const std::string& key) {
    line(key + ":");
    path_.push_back(key);
  }
  void close() { path_.pop_back(); }

  // `text` as YAML, or the map form of the value when it states its source.
  void put(const std::string& key, const std::string& text);

  // The maps of a list, one a line: what is put between the two is one entry.
  void open_item(const std::string& key, std::size_t index);
  std::string close_item();
  // One item a line, but for lists that state their source.
  void put_list(const std::string& key, const std::vector<std::string>& items);

 private:
  void line(const std::string& text) { text_ += std::string(2 * path_.size(), ' ') + text + "\n"; }
  const SourcedValue* source_of(const std::string& path) const;
  std::string path_of(const std::string& key) const;

  const std::vector<SourcedValue>& sources_;
  std::vector<std::string> path_;
  bool in_item_ = false;
  std::vector<std::string> item_;
  std::string text_;
};

// One map of a cluster file that is being read or written. The keys of a map are declared once, by a function that
// calls one member per key in the order of the file: `need` for a key that must be there, `take` for one that may be
// absent (the value then keeps what it has, its default) and so on. Reading marks keys as known and throws input errors
// with place; writing puts them all.
class SpecFields {
 public:
  explicit SpecFields(MapReader& reader) : reader_(&reader) {}
  explicit SpecFields(SpecWriter& writer) : writer_(&writer) {}

  bool reading() const { return reader_ != nullptr; }
  MapReader& reader() { return *reader_; }  // while reading
  SpecWriter& writer() { return *writer_; }

  template <typename... Value>
  void need(const std::string& key, Value&&... value) {
    if (reading()) reader_->required(key);
    take(key, std::forward<Value>(value)...);
  }
  void take(const std::string& key, std::string& text);
  void take(const std::string& key, bool& flag);
  void take(const std::string& key, int& count, int most);  // at least 1; 0 is left out when writing: absent
  void take(const std::string& key, Bytes& bytes, const Bounds& bounds = Bounds::from(0));
  void take(const std::string& key, Seconds& time);
  void take(const std::string& key, Bandwidth& rate);  // 0 is left out when writing
  void take_real(const std::string& key, double& number, const Bounds& bounds, const std::string& advice = "");
  void take_share(const std::string& key, double& share, const Bounds& bounds = Bounds::from(0).to(1));
  void take_part(const std::string& key, double& part, double most);      // above 0 and at most `most`
  void take_scale(const std::string& key, std::optional<double>& scale);  // of a relative error, from 0 to 10
  template <typename Value>
  void take(const std::string& key, std::optional<Value>& value) {
    if (reading() ? !reader_->has(key) : !value) return;
    Value held = value.value_or(Value{});
    take(key, held);
    value = held;
  }
  // One of some words; an empty one is left out when writing.
  void choose(const std::string& key, std::string& word, const std::vector<std::string>& words);
  template <typename Enum, std::size_t n>
  void choose(const std::string& key, Enum& value, const std::array<std::string_view, n>& words) {
    std::string word(words.at(static_cast<std::size_t>(value)));
    choose(key, word, {words.begin(), words.end()});
    value = static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
  }

  // A map inside this one. Reading: a missing map reads as an empty one.
  template <typename Inside>
  void map(const std::string& key, const Inside& inside) {
    if (!reading()) {
      writer_->open(key);
      inside(*this);
      return writer_->close();
    }
    MapReader reader = reader_->map(key);
    SpecFields fields(reader);
    inside(fields);
    reader.finish();
  }
  // The same for one that may be absent.
  template <typename Value, typename Inside>
  void map(const std::string& key, std::optional<Value>& value, const Inside& inside) {
    if (reading() ? !reader_->has(key) : !value) return;
    Value held = value.value_or(Value{});
    map(key, [&](SpecFields& fields) { inside(fields, held); });
    value = std::move(held);
  }
  // A list of maps that may be absent: `inside(fields, item, place)`.
  template <typename Item, typename Inside>
  void list(const std::string& key, std::vector<Item>& items, const Inside& inside,
            const Bounds& length = Bounds::from(0)) {
    if (!reading()) return write_list(key, items, inside);
    if (!reader_->has(key)) return;
    items.clear();
    for (const Tree& tree : reader_->list(key, length)) {
      MapReader reader(tree, item_path(key, items.size()), reader_->sources());
      SpecFields fields(reader);
      Item item{};
      inside(fields, item, tree.place);
      reader.finish();
      items.push_back(std::move(item));
    }
  }

 private:
  std::string item_path(const std::string& key, std::size_t index) const;
  template <typename Item, typename Inside>
  void write_list(const std::string& key, std::vector<Item>& items, const Inside& inside) {
    std::vector<std::string> texts;
    for (Item& item : items) {
      writer_->open_item(key, texts.size());
      inside(*this, item, Place{});
      texts.push_back(writer_->close_item());
    }
    if (!texts.empty()) writer_->put_list(key, texts);
  }

  MapReader* reader_ = nullptr;
  SpecWriter* writer_ = nullptr;
};

// Whole numbers in [0, end), each `what` ("GPU", "NIC"), and such a list as YAML.
int read_index(const Tree& tree, int end, const std::string& what);
std::vector<int> read_indices(const Tree& list, int end, const std::string& what);
std::string indices_text(const std::vector<int>& indices);

// The maps of a cluster file, one function per noun; read_cluster() and write_cluster() join them.
void gpu_fields(SpecFields& fields, GpuSpec& gpu, const std::string& device);
void host_fields(SpecFields& fields, HostSpec& host);
void nvlink_fields(SpecFields& fields, NvlinkSpec& nvlink, const GpuSpec& gpu, const std::string& nccl);
void pcie_fields(SpecFields& fields, PcieSpec& pcie, int gpu_count, const std::optional<NicSpec>& nics);
void nics_fields(SpecFields& fields, NicSpec& nics, int gpu_count);
void fabric_fields(SpecFields& fields, FabricSpec& fabric);
void graph_fields(SpecFields& fields, ClusterSpec& spec);
void p2p_fields(SpecFields& fields, P2pSpec& p2p);
void range_fields(SpecFields& fields, FitRange& range);
void overheads_fields(SpecFields& fields, ClusterSpec& spec);
void fault_fields(SpecFields& fields, FaultSpec& fault, const Place& place);

// Refuses a value that was concluded from another one which a later layer (--set, a file above its base) has changed
// since: a channel table and the links it was found on, an effective rate and the data sheet's.
void check_derived(const Tree& cluster);

}  // namespace shardsim
