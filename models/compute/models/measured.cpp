#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/embedding_measurements.h"
#include "models/compute/models/measured_curve.h"

namespace shardsim {
namespace {

using RowKind = EmbeddingRow::Kind;
using Point = MeasuredCurve::Point;

bool is_read_once(const EmbeddingRow& row) {
  return row.rows >= row.batch * row.pooling;
}

// The rows of one kind as points; those that caches serve only where there are no others.
MeasuredCurve curve_of(const std::vector<const EmbeddingRow*>& rows) {
  std::vector<Point> cold, all;
  for (const EmbeddingRow* const row : rows) {
    all.push_back({row->hbm_bytes(), row->lookups(), row->time_us * 1e-6});
    if (is_read_once(*row)) cold.push_back(all.back());
  }
  return MeasuredCurve(cold.empty() ? all : cold);
}

class Measured final : public ComputeModel {
 public:
  Measured(const std::string& path, const EmbeddingTable& table) : path_(path) {
    std::vector<const EmbeddingRow*> lookups;
    std::map<std::string, std::vector<const EmbeddingRow*>> updates;
    std::map<std::string, std::vector<Point>> products;
    for (const EmbeddingRow& row : table.rows) {
      if (row.kind == RowKind::gemm) products[row.dtype].push_back({row.flops(), row.flops(), row.time_us * 1e-6});
      // The rate of a large copy: in small ones the start counts, and each call pays for that by itself.
      if (row.kind == RowKind::copy) copy_rate_ = std::max(copy_rate_, row.traffic_bytes / (row.time_us * 1e-6));
      if (row.kind == RowKind::empty) start_ = row.time_us * 1e-6;
      if (!row.has_tables() || row.warm || !row.uniform) continue;
      if (row.is_update()) updates[row.optimizer].push_back(&row);
      if (!row.is_update()) lookups.push_back(&row);
    }
    lookup_ = curve_of(lookups);
    for (const auto& [optimizer, rows] : updates) updates_.emplace(optimizer, curve_of(rows));
    for (auto& [precision, points] : products) products_.emplace(precision, MeasuredCurve(std::move(points)));
  }

  Seconds seconds(const ComputeWork& work, const GpuSpec&) const override {
    if (work.fixed.value > 0) return work.fixed;
    // No row says anything of the link to the host: what crosses it takes at least as long as the cluster's link does.
    return std::max(on_device(work), work.host_link);
  }

 private:
  Seconds on_device(const ComputeWork& work) const {
    if (work.lookups > 0 && work.kind == ComputeWork::Kind::lookup) return by(lookup_, work, "lookup");
    if (work.lookups > 0 && work.kind == ComputeWork::Kind::update) return update(work);
    return dense(work);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw input_error({path_}, "the file has no usable row of " + what,
                      "Measure it too, or choose another compute model");
  }

  Seconds by(const MeasuredCurve& curve, const ComputeWork& work, const std::string& what) const {
    if (curve.empty()) refuse(what);
    return {curve.at(work.hbm_bytes, work.lookups)};
  }

  // A gradient that is only summed (of replicated rows) names no optimizer: it does what plain SGD does.
  Seconds update(const ComputeWork& work) const {
    const std::string name = work.optimizer.empty() || work.optimizer == "none" ? "sgd" : work.optimizer;
    const auto found = updates_.find(name);
    if (found == updates_.end()) refuse("an update with optimizer " + name);
    return by(found->second, work, "an update with optimizer " + name);
  }

  // The curve of a precision, or that of fp32 if the precision was not measured: every set has fp32.
  const MeasuredCurve& product_curve(const std::string& precision) const {
    for (const std::string& name : {precision, std::string("fp32")}) {
      const auto found = products_.find(name);
      if (found != products_.end()) return found->second;
    }
    refuse("a matrix product (op gemm) in " + precision);
  }

  Seconds dense(const ComputeWork& work) const {
    if (work.hbm_bytes > 0 && !(copy_rate_ > 0)) refuse("a copy (op copy)");
    const double product = work.flops > 0 ? product_curve(work.precision).at(work.flops, work.flops) : 0;
    const double traffic = work.hbm_bytes > 0 ? start_ + work.hbm_bytes / copy_rate_ : 0;
    return {std::max({product, traffic, start_})};
  }

  std::string path_;
  MeasuredCurve lookup_{{}};
  std::map<std::string, MeasuredCurve> products_;  // by precision
  std::map<std::string, MeasuredCurve> updates_;
  double copy_rate_ = 0, start_ = 0;  // bytes/s, seconds
};

}  // namespace

// Option `file`: the CSV table of shardsim-microbench (or of public measurements), as the current folder sees it.
// Lookups and sorted updates (per optimizer) are interpolated by bytes and lookups, dense products by FLOP; what is
// only traffic takes the measured copy rate and an empty call. Rows of quality C, warm caches and skewed indices are
// not used, nor rows whose tables are read more than once over where others are there: caches serve those.
// Errors (Failure::input): what read_embedding_table() finds; a kind of operation or optimizer that the file has no row
// of, when it is asked for.
std::unique_ptr<ComputeModel> make_measured(MapReader& options) {
  const Place place = options.place_of("file");
  const std::string file = options.text("file");
  if (!file.ends_with(".csv"))
    throw input_error(place, excerpt(file) + " is no CSV table", "Name the file of shardsim-microbench --csv");
  const CsvTable table = parse_csv(read_file(file), file);
  return std::make_unique<Measured>(file, read_embedding_table(table));
}

}  // namespace shardsim
