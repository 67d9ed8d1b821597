#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/hdf5/hdf5.h"
#include "base/text.h"
#include "plan/learned/cost_model.h"
#include "plan/learned/shard_net.h"

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

std::string group_of(const ExchangeModel& exchange) {
  return fmt::format("/exchange_{}", exchange.ranks);
}

void save_exchange(Hdf5Writer& file, const ExchangeModel& exchange) {
  const std::string group = group_of(exchange);
  file.scale<std::int64_t>(group + "/input", exchange.inputs.means.size(),
                           {"1", "columns of each rank, then starts of each rank in ms"});
  save_inputs(file, group, exchange.inputs, group + "/input");
  file.attribute<std::int64_t>(group, "batch", exchange.batch);
  file.text_attribute(group, "topology", exchange.topology);
  save_net(file, group + "/forward", exchange.forward);
  save_net(file, group + "/backward", exchange.backward);
}

void save_setting(Hdf5Writer& file, const CostModel& model) {
  file.text_attribute("/", "schema", kSchema);
  file.text_attribute("/", "provider", model.setting.provider);
  file.text_attribute("/", "device", model.setting.device);
  file.attribute<std::int64_t>("/", "batch", model.setting.batch);
  file.text_attribute("/", "optimizer", model.setting.optimizer);
  file.text_attribute("/", "dtype", model.setting.dtype);
  file.text_attribute("/", "feature_layout", words_of(model.layout).at(static_cast<std::size_t>(model.layout)));
  file.text_attribute("/", "data_hash", fmt::format("{:016x}", model.data_hash));
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(model.seed));
  file.attribute<std::int64_t>("/", "labels", model.labels);
}

// A model file that is read: every size is checked against what the nets need.
class ModelReader {
 public:
  explicit ModelReader(const std::filesystem::path& path) : file_(path) {}

  CostModel read() {
    CostModel model;
    read_setting(model);
    model.layout = layout();
    const std::size_t features = feature_names(model.layout).size();
    if (file_.texts("/feature_name") != feature_names(model.layout))
      file_.refuse("its features are not those of the layout that it names");
    model.features = inputs("", features);
    const std::size_t parameters = ShardNet<float>(static_cast<int>(features)).parameter_count();
    model.forward = net("/forward", parameters);
    model.backward = net("/backward", parameters);
    for (const int ranks : {4, 8})
      if (file_.has(fmt::format("/exchange_{}", ranks))) model.exchanges.push_back(exchange(ranks));
    return model;
  }

 private:
  void read_setting(CostModel& model) {
    const std::string schema = file_.text_attribute("/", "schema");
    if (schema != kSchema) file_.refuse(fmt::format("its schema is {}, not {}", excerpt(schema), kSchema));
    model.setting = {file_.text_attribute("/", "provider"), file_.text_attribute("/", "device"),
                     file_.integer_attribute("/", "batch"), file_.text_attribute("/", "optimizer"),
                     file_.text_attribute("/", "dtype")};
    model.seed = static_cast<std::uint64_t>(file_.integer_attribute("/", "seed"));
    model.labels = file_.integer_attribute("/", "labels");
    model.data_hash = hash(file_.text_attribute("/", "data_hash"));
  }

  std::uint64_t hash(const std::string& text) {
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
      file_.refuse("data_hash is no hash");
    return std::stoull(text, nullptr, 16);
  }

  FeatureLayout layout() {
    const std::string name = file_.text_attribute("/", "feature_layout");
    if (name == "neuroshard") return FeatureLayout::neuroshard;
    file_.refuse(fmt::format("its feature layout is {}, not neuroshard", excerpt(name)));
  }

  std::vector<float> reals(const std::string& path, std::size_t count) {
    if (const auto shape = file_.shape(path); shape.size() != 1 || shape.front() != count)
      file_.refuse(fmt::format("{} does not hold {} numbers", path, count));
    std::vector<float> result;
    for (const double value : file_.reals(path)) {
      result.push_back(static_cast<float>(value));
      if (!std::isfinite(result.back())) file_.refuse(path + " holds a number that is not finite");
    }
    return result;
  }

  double real(const std::string& path) {
    const std::vector<double> values = file_.reals(path);
    if (values.size() != 1 || !std::isfinite(values.front())) file_.refuse(path + " is no finite number");
    return values.front();
  }

  InputScale inputs(const std::string& group, std::size_t count) {
    InputScale scale{reals(group + "/means", count), reals(group + "/deviations", count)};
    for (const float deviation : scale.deviations)
      if (!(deviation > 0)) file_.refuse(group + "/deviations holds a number that is not above 0");
    return scale;
  }

  FittedNet net(const std::string& group, std::size_t parameters) {
    const std::vector<std::int64_t> epoch = file_.integers(group + "/epoch");
    if (epoch.size() != 1) file_.refuse(group + "/epoch is not one number");
    return {reals(group + "/parameters", parameters),
            {real(group + "/output_mean"), real(group + "/output_deviation")},
            real(group + "/validation_loss"),
            static_cast<int>(epoch.front())};
  }

  ExchangeModel exchange(int ranks) {
    const std::string group = fmt::format("/exchange_{}", ranks);
    const auto parameters = [&](int inputs) {
      return DenseStack<float>(exchange_layers(inputs, ranks)).parameter_count();
    };
    return {ranks,
            file_.integer_attribute(group, "batch"),
            file_.text_attribute(group, "topology"),
            inputs(group, 2 * static_cast<std::size_t>(ranks)),
            net(group + "/forward", parameters(2 * ranks)),
            net(group + "/backward", parameters(ranks))};
  }

  Hdf5Reader file_;
};

}  // namespace

void save_cost_model(const CostModel& model, const std::filesystem::path& path) {
  Hdf5Writer file;
  save_setting(file, model);
  file.scale<std::int64_t>("/feature", model.features.means.size(), {"1", "number of the feature"});
  file.texts("/feature_name", feature_names(model.layout), "/feature", {"", "name of the feature"});
  save_inputs(file, "", model.features, "/feature");
  save_net(file, "/forward", model.forward);
  save_net(file, "/backward", model.backward);
  for (const ExchangeModel& exchange : model.exchanges) save_exchange(file, exchange);
  file.save(path);
}

CostModel read_cost_model(const std::filesystem::path& file) {
  return ModelReader(file).read();
}

}  // namespace shardsim
