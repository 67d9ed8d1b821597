#include "models/learned/learned_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace shardsim {
namespace {

std::string name_of(FeatureLayout layout) {
  return words_of(layout).at(static_cast<std::size_t>(layout));
}

// "feature_layout" as people say it.
std::string in_words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

}  // namespace

void write_setting(Hdf5Writer& file, const std::string& schema, const LabelSetting& setting, FeatureLayout layout) {
  file.text_attribute("/", "schema", schema);
  file.text_attribute("/", "provider", setting.provider);
  file.text_attribute("/", "device", setting.device);
  file.attribute<std::int64_t>("/", "batch", setting.batch);
  file.text_attribute("/", "optimizer", setting.optimizer);
  file.text_attribute("/", "dtype", setting.dtype);
  file.text_attribute("/", "feature_layout", name_of(layout));
}

void write_hash(Hdf5Writer& file, const std::string& name, std::uint64_t hash) {
  file.text_attribute("/", name, fmt::format("{:016x}", hash));
}

void LearnedFile::expect(const std::string& name, const std::string& wanted) const {
  const std::string has = hdf5.text_attribute("/", name);
  if (has != wanted) hdf5.refuse(fmt::format("its {} is {}, not {}", in_words(name), excerpt(has), wanted));
}

void LearnedFile::expect_layout(FeatureLayout layout) const {
  expect("feature_layout", name_of(layout));
  if (hdf5.texts("/feature_name") != feature_names(layout))
    hdf5.refuse("its features are not those of the layout that it names");
}

bool LearnedFile::has_layout(FeatureLayout layout) const {
  return hdf5.text_attribute("/", "feature_layout") == name_of(layout);
}

LabelSetting LearnedFile::setting() const {
  return {hdf5.text_attribute("/", "provider"), hdf5.text_attribute("/", "device"), batch(),
          hdf5.text_attribute("/", "optimizer"), hdf5.text_attribute("/", "dtype")};
}

// 0 stands for several batches, where the layout has the batch as a feature.
std::int64_t LearnedFile::batch() const {
  const bool is_several = has_layout(FeatureLayout::batches) && hdf5.integer_attribute("/", "batch") == 0;
  return is_several ? 0 : count("batch");
}

std::int64_t LearnedFile::count(const std::string& name, const std::string& object) const {
  const std::int64_t value = hdf5.integer_attribute(object, name);
  const std::string where = object == "/" ? "its " : object + ": its ";
  if (value < 1) hdf5.refuse(fmt::format("{}{} is {}, and must be at least 1", where, in_words(name), value));
  return value;
}

std::uint64_t LearnedFile::hash(const std::string& name) const {
  const std::string text = hdf5.text_attribute("/", name);
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    hdf5.refuse(fmt::format("its {} is no hash", in_words(name)));
  return std::stoull(text, nullptr, 16);
}

std::vector<float> LearnedFile::reals(const std::string& path, std::size_t count) const {
  if (const auto shape = hdf5.shape(path); shape.size() != 1 || shape.front() != count)
    hdf5.refuse(fmt::format("{} does not hold {} numbers", path, count));
  std::vector<float> result;
  for (const double value : hdf5.reals(path)) {
    result.push_back(static_cast<float>(value));
    if (!std::isfinite(result.back())) hdf5.refuse(path + " holds a number that is not finite");
  }
  return result;
}

double LearnedFile::real(const std::string& path) const {
  const std::vector<double> values = hdf5.reals(path);
  if (values.size() != 1 || !std::isfinite(values.front())) hdf5.refuse(path + " is no finite number");
  return values.front();
}

InputScale LearnedFile::inputs(const std::string& group, std::size_t count) const {
  InputScale scale{reals(group + "/means", count), reals(group + "/deviations", count)};
  for (const float deviation : scale.deviations)
    if (!(deviation > 0)) hdf5.refuse(group + "/deviations holds a number that is not above 0");
  return scale;
}

}  // namespace shardsim
