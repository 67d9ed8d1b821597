#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/hdf5/hdf5.h"
#include "models/learned/cost_model.h"

namespace shardsim {

// The common part of files of learned parameters: the attributes that say what was learned from what, and parameters
// whose sizes and values are checked. docs/formats/learned_models.md, "Cost models" and "Policies".

// The attributes schema, provider, device, batch, optimizer, dtype and feature_layout.
void write_setting(Hdf5Writer& file, const std::string& schema, const LabelSetting& setting, FeatureLayout layout);
// A hash as 16 hexadecimal digits.
void write_hash(Hdf5Writer& file, const std::string& name, std::uint64_t hash);

// Reads such a file. Errors (Failure::input, naming file and object): those of Hdf5Reader, and what each function says.
class LearnedFile {
 public:
  explicit LearnedFile(const std::filesystem::path& path) : hdf5(path, Hdf5Origin::shardsim) {}

  // Refuses another value of the text attribute.
  void expect(const std::string& name, const std::string& wanted) const;
  // Refuses another layout of features, or one whose names in the file are others.
  void expect_layout(FeatureLayout layout) const;
  bool has_layout(FeatureLayout layout) const;
  // Refuses a batch below 1.
  LabelSetting setting() const;
  // Refuses a number below 1.
  std::int64_t count(const std::string& name, const std::string& object = "/") const;
  // Refuses what write_hash() does not write.
  std::uint64_t hash(const std::string& name) const;
  std::uint64_t seed() const { return static_cast<std::uint64_t>(hdf5.integer_attribute("/", "seed")); }

  // A dataset of so many numbers, all finite.
  std::vector<float> reals(const std::string& path, std::size_t count) const;
  double real(const std::string& path) const;
  // `means` and `deviations` of a group; refuses deviations that are not above 0.
  InputScale inputs(const std::string& group, std::size_t count) const;

  const Hdf5Reader hdf5;

 private:
  std::int64_t batch() const;
};

}  // namespace shardsim
