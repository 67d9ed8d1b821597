#pragma once

#include <string>
#include <vector>

#include "accuracy/measurements/calls/measured_calls.h"
#include "base/document/document.h"
#include "base/judgement/pair.h"
#include "base/tree/tree.h"

namespace shardsim {

enum class CallDirection { forward, backward };
std::string call_direction_name(CallDirection direction);

// The calls of one set in one direction: those that judge, and those that a constant was fitted on.
struct CallFigures {
  std::string set;
  CallDirection direction = CallDirection::forward;
  ErrorFigures judging, fitted;
};

struct PredictedCall {
  const MeasuredCall* call = nullptr;
  double forward_us = 0, backward_us = 0;  // predicted
  bool is_fitted = false;                  // a constant of the prediction was fitted on it

  Pair pair(CallDirection direction) const;  // us; every call weighs the same
};

// The result of `compute compare` for fused calls. Refers to the calls.
struct CallJudgement {
  const MeasuredCalls* measured = nullptr;
  std::string model;                 // as the options have it: "gpu_kernels, kernels fbgemm"
  std::vector<PredictedCall> calls;  // in their order
  std::vector<CallFigures> by_set;   // in order of appearance, forward first
  ErrorFigures judging;              // both directions of all
};

// Predicts every call by the compute model that the options name. Errors: those of the model.
CallJudgement judge_calls(const MeasuredCalls& measured, const Tree& model_options);

std::string call_judgement_json(const CallJudgement& judgement);  // schema shardsim.call_comparison/1
std::string call_predictions_csv(const CallJudgement& judgement);
// For people: a table by set and direction, and a sentence that sums it up.
Document call_document(const CallJudgement& judgement, Medium medium);

}  // namespace shardsim
