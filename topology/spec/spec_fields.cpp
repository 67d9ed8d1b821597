#include "topology/spec/spec_fields.h"

#include <fmt/format.h>

namespace shardsim {
namespace {

// A list or map that states its source has no text of its own in the source entry.
std::string sourced(const SourcedValue& source, const std::string& text) {
  std::string map = "{value: " + (source.value.empty() ? text : yaml_quoted(source.value));
  map += ", source: " + yaml_quoted(source.source);
  if (source.fitted) map += ", fitted: true";
  std::vector<std::string> rows;
  for (const std::string& row : source.fitted_on) rows.push_back(yaml_quoted(row));
  if (!rows.empty()) map += ", fitted_on: [" + join(rows) + "]";
  if (source.rows_used > 0) map += fmt::format(", rows_used: {}", source.rows_used);
  if (source.error_unused_pct) map += ", error_unused_pct: " + shortest(*source.error_unused_pct);
  return map + "}";
}

}  // namespace

void SpecWriter::put(const std::string& key, const std::string& text) {
  const SourcedValue* source = source_of(path_of(key));
  const std::string entry = key + ": " + (source == nullptr ? text : sourced(*source, text));
  if (in_item_) return item_.push_back(entry);
  line(entry);
}

void SpecWriter::open_item(const std::string& key, std::size_t index) {
  path_.push_back(fmt::format("{}.{}", key, index));
  in_item_ = true;
}

std::string SpecWriter::close_item() {
  path_.pop_back();
  in_item_ = false;
  return "{" + join(std::exchange(item_, {})) + "}";
}

void SpecWriter::put_list(const std::string& key, const std::vector<std::string>& items) {
  if (in_item_ || items.empty() || is_sourced(key)) return put(key, "[" + join(items) + "]");
  line(key + ":");
  for (const std::string& text : items) line("  - " + text);
}

std::string SpecWriter::path_of(const std::string& key) const {
  return path_.empty() ? key : join(path_, ".") + "." + key;
}

const SourcedValue* SpecWriter::source_of(const std::string& path) const {
  for (const SourcedValue& source : sources_) {
    if (source.path == path) return &source;
  }
  return nullptr;
}

void SpecFields::take(const std::string& key, std::string& text) {
  if (!reading()) return writer_->put(key, yaml_quoted(text));
  text = reader_->text(key, text);
}

void SpecFields::take(const std::string& key, bool& flag) {
  if (!reading()) return writer_->put(key, flag ? "true" : "false");
  flag = reader_->flag(key, flag);
}

void SpecFields::take(const std::string& key, int& count, int most) {
  if (!reading() && count > 0) return writer_->put(key, std::to_string(count));
  if (reading()) count = static_cast<int>(reader_->count(key, Bounds::from(1).to(most), count));
}

void SpecFields::take(const std::string& key, Bytes& bytes, const Bounds& bounds) {
  if (!reading()) return writer_->put(key, yaml_quoted(exact_text(bytes)));
  bytes = reader_->get<Bytes>(key, bytes_leaf(bounds), bytes);
}

void SpecFields::take(const std::string& key, Seconds& time) {
  if (!reading()) return writer_->put(key, yaml_quoted(exact_text(time)));
  time = reader_->time(key, time);
}

void SpecFields::take(const std::string& key, Bandwidth& rate) {
  if (reading()) {
    rate = reader_->rate(key, rate);
  } else if (rate.bytes_per_second > 0) {
    writer_->put(key, yaml_quoted(exact_text(rate)));
  }
}

void SpecFields::take_real(const std::string& key, double& number, const Bounds& bounds, const std::string& advice) {
  if (!reading()) return writer_->put(key, shortest(number));
  number = reader_->get<double>(key, real_leaf(bounds, advice), number);
}

void SpecFields::take_share(const std::string& key, double& share, const Bounds& bounds) {
  if (!reading()) return writer_->put(key, shortest(share));
  share = reader_->get<double>(key, share_leaf(bounds), share);
}

void SpecFields::take_part(const std::string& key, double& part, double most) {
  if (!reading()) return writer_->put(key, shortest(part));
  if (most == 1) {
    part = reader_->efficiency(key, part);
    return;
  }
  constexpr double kLeast = 1e-6;  // what is slower by more never ends
  part = reader_->real(key, Bounds::from(kLeast).to(most), part);
}

void SpecFields::take_scale(const std::string& key, std::optional<double>& scale) {
  constexpr double kMostScale = 10;  // a factor of e^10: no prediction is worth an interval then
  if (reading() ? !reader_->has(key) : !scale) return;
  double held = scale.value_or(0);
  take_real(key, held, Bounds::from(0).to(kMostScale));
  scale = held;
}

void SpecFields::choose(const std::string& key, std::string& word, const std::vector<std::string>& words) {
  if (reading()) {
    word = reader_->choice(key, words, word);
  } else if (!word.empty()) {
    const bool looks_like_a_number = word.find('.') != std::string::npos;  // "2.30" is a version
    writer_->put(key, looks_like_a_number ? yaml_quoted(word) : word);
  }
}

std::string SpecFields::item_path(const std::string& key, std::size_t index) const {
  return fmt::format("{}{}{}.{}", reader_->path(), reader_->path().empty() ? "" : ".", key, index);
}

int read_index(const Tree& tree, int end, const std::string& what) {
  const std::int64_t index = count_leaf()(tree);
  if (index < end) return static_cast<int>(index);
  const std::string known =
      end == 0 ? fmt::format("the node has no {}", what) : fmt::format("the node has {} 0 to {}", what, end - 1);
  throw input_error(tree.place, fmt::format("{} {} does not exist: {}", what, index, known),
                    "Indices count from 0 within one node");
}

std::vector<int> read_indices(const Tree& list, int end, const std::string& what) {
  note_form(list, {Form::Kind::list});
  if (list.kind != Tree::Kind::list) {
    throw input_error(list.place,
                      fmt::format("this must be a list of {} indices, but is {}", what, kind_name(list.kind)),
                      "Write it as [0, 1]");
  }
  std::vector<int> indices;
  for (const Tree& item : list.items) indices.push_back(read_index(item, end, what));
  return indices;
}

std::string indices_text(const std::vector<int>& indices) {
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

}  // namespace shardsim
