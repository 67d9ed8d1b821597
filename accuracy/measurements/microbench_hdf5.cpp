#include <algorithm>
#include <limits>

#include "base/hdf5/hdf5.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

const std::vector<std::string> kPoint{"/point"};

class SetWriter {
 public:
  explicit SetWriter(const MeasuredSet& set) : set_(set) {}

  void save(const std::filesystem::path& path) {
    attributes();
    facts();
    limits();
    points();
    samples();
    tables();
    file_.save(path);
  }

 private:
  template <typename Number, typename Read>
  std::vector<Number> each(const Read& read) const {
    std::vector<Number> values;
    for (const MeasuredPoint& point : set_.points) values.push_back(static_cast<Number>(read(point)));
    return values;
  }
  template <typename Number, typename Read>
  void numbers(const std::string& name, const Hdf5Meaning& meaning, const Read& read) {
    file_.dataset<Number>(name, each<Number>(read), kPoint, meaning);
  }
  template <typename Read>
  void texts(const std::string& name, const std::string& meaning, const Read& read) {
    file_.texts(name, each<std::string>(read), "/point", {"", meaning});
  }

  void attributes() {
    file_.text_attribute("/", "schema", "shardsim.microbench/1");
    file_.text_attribute("/", "version", set_.version);
    file_.text_attribute("/", "date", set_.date);
    file_.text_attribute("/", "device", set_.device.name);
    file_.text_attribute("/", "software", set_.device.software);
    file_.text_attribute("/", "allocation_outside_timing", "yes");
    file_.text_attribute("/", "bytes_per_index", "8");
    file_.text_attribute("/", "quality", set_.is_steady() ? "A" : "C");
    file_.attribute<std::int64_t>("/", "num_gpus", set_.device.num_gpus);
    file_.attribute<std::int64_t>("/", "threads", set_.device.threads);
    file_.attribute<std::uint64_t>("/", "seed", set_.options.seed);
  }

  void facts() {
    std::vector<std::string> names, values;
    for (const auto& [name, value] : set_.device.more) {
      names.push_back(name);
      values.push_back(value);
    }
    if (names.empty()) return;
    file_.scale<std::int64_t>("/fact", names.size(), {"1", "fact of the device"});
    file_.texts("/fact_name", names, "/fact", {"", "what is known of the device"});
    file_.texts("/fact_value", values, "/fact", {"", "as the device says it"});
  }

  void limits() {
    file_.value<std::int64_t>("/memory_bytes", set_.device.memory_bytes, {"B", "memory that points may use"});
    file_.value<std::int64_t>("/cache_bytes", set_.device.cache_bytes, {"B", "last-level cache"});
    for (const auto& [name, limits] : {std::pair{"/before", &set_.before}, {"/after", &set_.after}}) {
      const std::string group = name;
      file_.value<double>(group + "/copy_bandwidth", limits->copy_bandwidth, {"B/s", "copy, read plus written"});
      file_.value<double>(group + "/cache_bandwidth", limits->cache_bandwidth, {"B/s", "read from the last cache"});
      file_.value<double>(group + "/launch_floor", limits->launch_floor_us, {"us", "a call of nothing"});
    }
    file_.value<double>("/stream/lookup", set_.stream.lookup_us, {"us", "pooled lookup, rows of 256 B, flushed"});
    file_.value<double>("/stream/read", set_.stream.stream_us, {"us", "streaming read of the bytes that it moves"});
  }

  void points() {
    using P = MeasuredPoint;
    file_.scale<std::int64_t>("/point", set_.points.size(), {"1", "point of the sweep"});
    texts("/op", "operation", [](const P& p) { return std::string(bench_op_name(p.point.op)); });
    texts("/dtype", "element type of the tables", [](const P& p) { return std::string(element_name(p.point.type)); });
    texts("/optimizer", "of the update; none for a lookup", [](const P& p) {
      return std::string(optimizer_name(p.point.has_update() ? p.point.optimizer : RowOptimizer::none));
    });
    numbers<std::int64_t>("/batch", {"1", "bags per table"}, [](const P& p) { return p.point.batch; });
    numbers<std::int64_t>("/m", {"1", "gemm: rows of A"}, [](const P& p) { return p.point.m; });
    numbers<std::int64_t>("/n", {"1", "gemm: columns of B"}, [](const P& p) { return p.point.n; });
    numbers<std::int64_t>("/k", {"1", "gemm: columns of A"}, [](const P& p) { return p.point.k; });
    numbers<double>("/zipf", {"1", "exponent of the index law, 0: uniform"},
                    [](const P& p) { return p.point.law.zipf; });
    texts("/cache_state", "what the caches hold when a call begins: warm, rotated or flushed",
          [](const P& p) { return std::string(cache_state_name(p.rotation.state)); });
    numbers<std::int32_t>("/copies", {"1", "of all that a call touches, used in turn"},
                          [](const P& p) { return p.rotation.copies; });
    numbers<std::int32_t>("/calls", {"1", "back to back in one sample, which is their mean"},
                          [](const P& p) { return p.calls; });
    numbers<std::int32_t>("/unsteady", {"1", "(P90 - P10) / median stayed above its limit"},
                          [](const P& p) { return p.unsteady ? 1 : 0; });
  }

  void samples() {
    using P = MeasuredPoint;
    std::size_t most = 1;
    for (const P& point : set_.points) most = std::max(most, point.samples_us.size());
    std::vector<double> times(set_.points.size() * most, std::numeric_limits<double>::quiet_NaN()), bins;
    for (std::size_t i = 0; i < set_.points.size(); ++i) {
      std::ranges::copy(set_.points[i].samples_us, times.begin() + static_cast<std::ptrdiff_t>(i * most));
      std::vector<double> row = set_.points[i].access_histogram;
      row.resize(17);
      bins.insert(bins.end(), row.begin(), row.end());
    }
    file_.scale<std::int64_t>("/sample", most, {"1", "repetition"});
    file_.scale<std::int64_t>("/bin", 17, {"1", "rows met up to 2^bin times, and more than in the bin before"});
    file_.dataset<double>("/time", times, {"/point", "/sample"}, {"us", "device time of one call; NaN: not repeated"});
    file_.dataset<double>("/access_histogram", bins, {"/point", "/bin"}, {"1", "share of the distinct rows"});
    numbers<double>("/median", {"us", "of the samples"}, [](const P& p) { return p.statistics.median; });
    numbers<double>("/p10", {"us", "of the samples"}, [](const P& p) { return p.statistics.p10; });
    numbers<double>("/p90", {"us", "of the samples"}, [](const P& p) { return p.statistics.p90; });
    numbers<double>("/min", {"us", "of the samples"}, [](const P& p) { return p.statistics.min; });
  }

  void tables() {
    std::size_t tables = 0;
    for (const MeasuredPoint& point : set_.points) tables += point.point.tables.size();
    if (tables == 0) return;
    file_.scale<std::int64_t>("/table", tables, {"1", "table of a point"});
    const auto column = [&](const std::string& name, const std::string& meaning, const auto& number) {
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < set_.points.size(); ++i)
        for (std::size_t t = 0; t < set_.points[i].point.tables.size(); ++t) values.push_back(number(i, t));
      file_.dataset<std::int64_t>(name, values, {"/table"}, {"1", meaning});
    };
    const auto table = [&](std::size_t i, std::size_t t) { return set_.points[i].point.tables[t]; };
    column("/table_point", "the point that it belongs to",
           [](std::size_t i, std::size_t) { return static_cast<std::int64_t>(i); });
    column("/table_rows", "rows", [&](std::size_t i, std::size_t t) { return table(i, t).rows; });
    column("/table_dim", "elements of a row", [&](std::size_t i, std::size_t t) { return table(i, t).dim; });
    column("/table_pooling", "lookups of a bag", [&](std::size_t i, std::size_t t) { return table(i, t).pooling; });
    column("/table_distinct_rows", "different rows of the batch",
           [&](std::size_t i, std::size_t t) { return set_.points[i].distinct[t]; });
  }

  const MeasuredSet& set_;
  Hdf5Writer file_;
};

}  // namespace

void save_measured_hdf5(const MeasuredSet& set, const std::filesystem::path& path) {
  SetWriter(set).save(path);
}

}  // namespace shardsim
