#include <fmt/format.h>

#include <limits>

#include "models/learned/exchange_inputs.h"
#include "models/learned/learned_file.h"

namespace shardsim {
namespace {

constexpr const char* kSchema = "shardsim.cost_model/1";

// Floats are exact as doubles.
void save_reals(Hdf5Writer& file, const std::string& path, const std::vector<float>& values, const std::string& axis,
                const std::string& meaning) {
  const std::vector<double> reals(values.begin(), values.end());
  file.dataset<double>(path, reals, {axis}, {"1", meaning});
}

void save_net(Hdf5Writer& file, const std::string& group, const FittedNet& net) {
  file.scale<std::int64_t>(group + "/parameter", net.parameters.size(), {"1", "number of the parameter"});
  save_reals(file, group + "/parameters", net.parameters, group + "/parameter",
             "of each layer its weights, those of one input together, then its biases");
  file.value<double>(group + "/output_mean", net.output.mean, {"s", "what the net's output 0 stands for"});
  file.value<double>(group + "/output_deviation", net.output.deviation, {"s", "what 1 of the net's output stands for"});
  file.value<double>(group + "/validation_loss", net.validation_loss,
                     {"1", "mean square of what the output is off by"});
  file.value<std::int64_t>(group + "/epoch", net.epoch, {"1", "that the parameters are of, from 1"});
}

void save_inputs(Hdf5Writer& file, const std::string& group, const InputScale& scale, const std::string& axis) {
  save_reals(file, group + "/means", scale.means, axis, "that inputs are centred on");
  save_reals(file, group + "/deviations", scale.deviations, axis, "that inputs are divided by");
}

std::string group_of(int ranks) {
  return fmt::format("/exchange_{}", ranks);
}

void save_range(Hdf5Writer& file, const LearnedRange& range) {
  file.attribute<std::int64_t>("/", "batch_from", range.batch_from);
  file.attribute<std::int64_t>("/", "batch_to", range.batch_to);
  file.attribute<std::int64_t>("/", "columns_from", range.columns_from);
  file.attribute<std::int64_t>("/", "columns_to", range.columns_to);
  file.value<std::int64_t>("/tables_from", range.tables_from, {"1", "tables of the smallest shard"});
  file.value<std::int64_t>("/tables_to", range.tables_to, {"1", "tables of the largest shard"});
}

void save_errors(Hdf5Writer& file, const std::string& group, const HeldBackErrors& errors) {
  file.value<double>(group + "/held_back_median", errors.median_pct,
                     {"%", "half of the labels held back are predicted within this"});
  file.value<double>(group + "/held_back_p90", errors.p90_pct, {"%", "nine of ten are predicted within this"});
  file.value<double>(group + "/held_back_scale", errors.scale, {"1", "mean of |ln(label / predicted)| on them"});
}

void save_evidence(Hdf5Writer& file, const LearnedEvidence& evidence) {
  file.scale<std::int64_t>("/label_set", evidence.sets.size(), {"1", "number of the set of labels"});
  file.texts("/label_set_name", evidence.sets, "/label_set", {"", "name of the set"});
  file.value<std::int64_t>("/held_back", evidence.held_back, {"1", "labels of shards that no fit looked at"});
  save_errors(file, "/forward", evidence.forward);
  save_errors(file, "/backward", evidence.backward);
}

void save_exchange(Hdf5Writer& file, const ExchangeModel& exchange) {
  const std::string group = group_of(exchange.ranks);
  file.scale<std::int64_t>(group + "/input", exchange.inputs.means.size(),
                           {"1", "columns, then starts in ms: models/learned/exchange_inputs.h"});
  save_inputs(file, group, exchange.inputs, group + "/input");
  file.attribute<std::int64_t>(group, "batch", exchange.batch);
  file.text_attribute(group, "topology", exchange.topology);
  save_net(file, group + "/forward", exchange.forward);
  save_net(file, group + "/backward", exchange.backward);
}

// A model file that is read: every size is checked against what the nets need.
class ModelReader {
 public:
  explicit ModelReader(const std::filesystem::path& path) : file_(path) {}

  CostModel read() {
    CostModel model;
    file_.expect("schema", kSchema);
    for (const FeatureLayout factors : {FeatureLayout::measured, FeatureLayout::batches})
      if (file_.has_layout(factors)) model.layout = factors;
    file_.expect_layout(model.layout);
    model.setting = file_.setting();
    if (model.layout == FeatureLayout::batches) {
      model.range = range();
      model.row_alignment = row_alignment();
    }
    model.seed = file_.seed();
    model.evidence = evidence();
    model.data_hash = file_.hash("data_hash");
    const std::size_t features = feature_names(model.layout).size();
    model.features = file_.inputs("", features);
    const std::size_t parameters = shard_parameters(model.layout);
    model.forward = net("/forward", parameters);
    model.backward = net("/backward", parameters);
    for (int ranks = kLeastExchangeRanks; ranks <= kMostExchangeRanks; ++ranks)
      if (file_.hdf5.has(group_of(ranks))) model.exchanges.push_back(exchange(ranks));
    return model;
  }

 private:
  int row_alignment() const {
    const std::int64_t bytes = file_.hdf5.integer_attribute("/", "row_alignment");
    if (bytes < 0 || bytes > kFarthestAlignment || (bytes & (bytes - 1)) != 0)
      file_.hdf5.refuse(
          fmt::format("its row_alignment is {}, and must be 0 or a power of two up to {}", bytes, kFarthestAlignment));
    return static_cast<int>(bytes);
  }

  LearnedRange range() const {
    LearnedRange range{file_.count("batch_from"), file_.count("batch_to"), file_.count("columns_from"),
                       file_.count("columns_to")};
    if (file_.hdf5.has("/tables_from")) {
      range.tables_from = whole("/tables_from", 1);
      range.tables_to = whole("/tables_to", 1);
    }
    if (range.batch_from > range.batch_to || range.columns_from > range.columns_to ||
        range.tables_from > range.tables_to)
      file_.hdf5.refuse("the range that its labels cover ends before it begins");
    return range;
  }

  std::int64_t whole(const std::string& path, std::int64_t least) const {
    const std::vector<std::int64_t> values = file_.hdf5.integers(path);
    if (values.size() != 1) file_.hdf5.refuse(path + " is not one number");
    if (values.front() < least)
      file_.hdf5.refuse(fmt::format("{} is {}, and must be at least {}", path, values.front(), least));
    return values.front();
  }

  double error(const std::string& path) const {
    const double value = file_.real(path);
    if (value < 0) file_.hdf5.refuse(fmt::format("{} is {}, and no error is below 0", path, value));
    return value;
  }

  HeldBackErrors errors(const std::string& group) const {
    return {error(group + "/held_back_median"), error(group + "/held_back_p90"), error(group + "/held_back_scale")};
  }

  // Files of before did not say how far they are off.
  LearnedEvidence evidence() const {
    LearnedEvidence evidence;
    evidence.fitted = file_.count("labels");
    if (!file_.hdf5.has("/held_back")) return evidence;
    evidence.sets = file_.hdf5.texts("/label_set_name");
    evidence.held_back = whole("/held_back", 0);
    evidence.forward = errors("/forward");
    evidence.backward = errors("/backward");
    return evidence;
  }

  FittedNet net(const std::string& group, std::size_t parameters) {
    return {file_.reals(group + "/parameters", parameters),
            {file_.real(group + "/output_mean"), file_.real(group + "/output_deviation")},
            file_.real(group + "/validation_loss"),
            static_cast<int>(whole(group + "/epoch", std::numeric_limits<std::int64_t>::min()))};
  }

  ExchangeModel exchange(int ranks) {
    const std::string group = group_of(ranks);
    const ExchangeInputs form(ranks);
    const auto parameters = [&](bool forward) { return DenseStack<float>(form.layers(forward)).parameter_count(); };
    return {ranks,
            file_.count("batch", group),
            file_.hdf5.text_attribute(group, "topology"),
            file_.inputs(group, form.width(true)),
            net(group + "/forward", parameters(true)),
            net(group + "/backward", parameters(false))};
  }

  LearnedFile file_;
};

}  // namespace

void save_cost_model(const CostModel& model, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_setting(file, kSchema, model.setting, model.layout);
  write_hash(file, "data_hash", model.data_hash);
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(model.seed));
  file.attribute<std::int64_t>("/", "labels", model.evidence.fitted);
  if (model.layout == FeatureLayout::batches) {
    save_range(file, model.range);
    file.attribute<std::int64_t>("/", "row_alignment", model.row_alignment);
  }
  file.scale<std::int64_t>("/feature", model.features.means.size(), {"1", "number of the feature"});
  file.texts("/feature_name", feature_names(model.layout), "/feature", {"", "name of the feature"});
  save_inputs(file, "", model.features, "/feature");
  save_net(file, "/forward", model.forward);
  save_net(file, "/backward", model.backward);
  save_evidence(file, model.evidence);
  for (const ExchangeModel& exchange : model.exchanges) save_exchange(file, exchange);
  file.save(path);
}

CostModel read_cost_model(const std::filesystem::path& file) {
  return ModelReader(file).read();
}

}  // namespace shardsim
