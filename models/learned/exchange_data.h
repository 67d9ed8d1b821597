#pragma once

#include <vector>

#include "models/learned/exchange_inputs.h"
#include "models/learned/fit.h"

namespace shardsim {

// The labelled exchanges of one set that are not held back.
class ExchangeData {
 public:
  // Keeps a reference to the set. Errors (Failure::input): no label that may be fitted; a label that is no time.
  explicit ExchangeData(const ExchangeSet& set);

  ExchangeModel fit(const TrainingOptions& options, const FitWatch& watch) const;
  void add_to(DataHash& hash) const;

 private:
  void add(const Exchange& exchange, const ExchangeSeconds& label);
  FittedNet fit(const std::vector<float>& inputs, const std::vector<double>& seconds, bool forward,
                const TrainingOptions& options, const TrainingWatch& watch) const;
  TrainingWatch told(const char* direction, const FitWatch& watch) const;

  const ExchangeSet& set_;
  ExchangeInputs form_;
  std::vector<float> inputs_;
  std::vector<double> forward_, backward_;
  int count_ = 0;
};

}  // namespace shardsim
