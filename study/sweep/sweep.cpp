#include "study/sweep/sweep.h"

#include <fmt/format.h>

#include <boost/crc.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/files.h"
#include "base/read_files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "base/tree/yaml_text.h"
#include "models/access/row_hash.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

// The files that a value names. A text without dot and slash is the name of something else, unless its key says `file`.
void add_files(const Tree& tree, const std::string& key, std::set<std::string>& files) {
  for (const Tree& item : tree.items) add_files(item, key, files);
  for (const auto& [name, value] : tree.fields) add_files(value, name, files);
  if (tree.kind != Tree::Kind::scalar || amount_of(tree.scalar)) return;
  if (key != "file" && tree.scalar.find_first_of("./") == std::string::npos) return;
  if (is_file(tree.scalar)) files.insert(tree.scalar);
}

// In pieces: a file of access counts may be larger than what one wants to hold.
std::string file_checksum(const std::string& path) {
  std::ifstream in = open_to_read(path);
  std::vector<char> piece(std::size_t{1} << 20);
  boost::crc_32_type crc;
  std::uint64_t bytes = 0;
  while (in.read(piece.data(), std::ssize(piece)), in.gcount() > 0) {
    crc.process_bytes(piece.data(), static_cast<std::size_t>(in.gcount()));
    bytes += static_cast<std::uint64_t>(in.gcount());
  }
  return fmt::format("{} bytes, {:08x}", bytes, crc.checksum());
}

// Identifies the contents of the files that a value names: their paths alone do not tell whether they have changed.
std::string files_identity(const Tree& tree) {
  std::set<std::string> files;
  add_files(tree, "", files);
  std::string text;
  for (const std::string& file : files) text += fmt::format("{}: {}\n", file, file_checksum(file));
  return text;
}

// As the points of this value have it: clusters and workloads whole, names of files as the current folder sees them.
Tree located_value(const Axis& axis, const Tree& value, const std::string& folder, LoadedTrees& loaded) {
  try {
    if (axis.path.find('.') == std::string::npos) return located(axis.path, value, folder, loaded);
    return located_leaf(axis.path, value, folder);
  } catch (const Error&) {  // the points of this value say what is wrong with it
    return value;
  }
}

// Identifies what the values of an axis stand for that are names, each value once.
std::string named_by(const Axis& axis, const std::string& folder, LoadedTrees& loaded) {
  std::set<std::string> told;
  std::string text;
  for (const AxisValue& value : axis.values) {
    if (value.amount) continue;
    const std::string stated = flow_text(value.tree);
    if (!told.insert(stated).second) continue;
    const Tree whole = located_value(axis, value.tree, folder, loaded);
    const std::string meant = flow_text(whole), files = files_identity(whole);
    if (meant != stated || !files.empty()) text += fmt::format("{} is {:016x}\n{}", stated, fnv1a(meant), files);
  }
  return text;
}

}  // namespace

std::vector<std::size_t> Sweep::coordinates(std::size_t point) const {
  std::vector<std::size_t> at(dimensions.size());
  std::size_t rest = points[point];
  for (std::size_t d = dimensions.size(); d-- > 0; rest /= dimensions[d].length())
    at[d] = rest % dimensions[d].length();
  return at;
}

std::string Sweep::shape() const {
  std::vector<std::string> lengths;
  for (const SweepDimension& each : dimensions)
    if (each.length() > 1) lengths.push_back(with_thousands(static_cast<std::int64_t>(each.length())));
  return lengths.empty() ? "1" : join(lengths, " x ");
}

std::string sweep_identity(const Sweep& sweep) {
  const std::string folder = std::filesystem::path(sweep.path).parent_path().string();
  LoadedTrees loaded;
  std::string text = fmt::format("seed: {}\nkeep_plan: {}\ncase: {}\n{}{}\n", sweep.seed, sweep.keep_plan,
                                 sweep.base.name, files_identity(sweep.base.keys), flow_text(sweep.base.keys));
  for (const SweepDimension& dimension : sweep.dimensions) {
    text += "dimension:\n";
    for (const Axis& axis : dimension.axes) {
      text += axis.path + ":";
      for (const AxisValue& value : axis.values) text += " " + flow_text(value.tree);
      text += "\n" + named_by(axis, folder, loaded);
    }
  }
  text += "points:";
  if (sweep.points.size() != sweep.product)
    for (const std::uint32_t point : sweep.points) text += fmt::format(" {}", point);
  return text + "\n";
}

std::uint64_t sweep_digest(const std::string& identity) {
  return fnv1a(version() + "\n" + identity);
}

}  // namespace shardsim
