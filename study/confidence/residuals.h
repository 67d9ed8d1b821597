#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// The scale of errors that a calibration left out. Where its constants are extrapolated, no more than that of published
// calls: a calibration never knows less than none.
struct HeldOutScale {
  double here = 0;      // of such calls
  double measured = 0;  // of the nearest ones that were measured
  // True: even the constants before the calibration, which were fitted to more ranks, are extrapolated: to that, the
  // calibration adds nothing.
  bool guessed = false;
  // `guess`: the scale that an extrapolation of published constants adds.
  double beside(double published, double guess) const {
    if (!guessed) return std::min(here, std::max(published, measured));
    return std::max(std::hypot(published, guess), std::min(here, measured));
  }
};

// A part of an iteration, by the class whose errors it has.
struct IterationPart {
  std::string error_class;               // from general to specific, "collective/rdma/from 64 MiB/all_to_all"
  double ms = 0;                         // that it adds to the iteration
  bool guessed = false;                  // whether it hangs on a constant that is a guess
  std::optional<double> own_scale = {};  // of its error on what a calibration left out; absent: that of its class
  // A collective has the share of the links' rate that its constants give it: it differs between clusters of one
  // network where these were measured on unlike systems. 1: none is stated.
  double fitted_share = 1;
  // own_scale of the nearest calls that were measured, if constants are extrapolated (HeldOutScale).
  std::optional<double> own_measured = {};
  double beneath_ms = 0;  // of `ms`: PathTime's
  bool operator==(const IterationPart&) const = default;
};

// The hardware, software and model of an iteration: those that have some of it in common have errors in common.
struct IterationSetting {
  std::string software;   // name of a preset; "none" where no host is simulated
  std::string version;    // what a case states of it that tells versions apart, in words; may be empty
  std::string cluster;    // its name
  std::string gpu;        // the product without memory and form, "A100"
  std::string transport;  // of the network between nodes; "none" on one node
  std::string model;      // workload, size and precision, in words that equal models share
  std::string plan;       // planner and options, or a file: in words that equal plans share
  int nodes = 1;
  int gpus = 1;
  std::int64_t batch_per_gpu = 0;
  std::size_t tables = 0;  // of the workload; 0: not known

  // Errors of one system say little about another one, so each system is judged by the others.
  std::string system() const { return software + " on " + cluster; }
  bool operator==(const IterationSetting&) const = default;
};

// A time that others published, or that the emulated cluster took, beside our prediction.
struct Residual {
  std::string error_class;  // of an iteration "iteration/SOFTWARE", or "emulated/SOFTWARE"
  std::string system;       // that it was measured on
  std::string name;
  double predicted_ms = 0, observed_ms = 0;
  bool fitted = false;               // a constant was set by it, so that it proves nothing
  IterationSetting setting;          // of an iteration
  std::vector<IterationPart> parts;  // of an iteration

  bool is_iteration() const { return error_class.starts_with("iteration/"); }
  bool is_whole() const { return is_iteration() || error_class.starts_with("emulated/"); }  // an iteration anywhere
  // True for a network for which no accuracy is claimed, or whose rate was not published.
  bool out_of_model() const {
    return error_class.starts_with("foreign_collective/") || error_class.starts_with("unknown_rate_collective/");
  }
  double error() const;  // ln(observed / predicted): above 0, we predict too short
};

// The shipped scenarios/accuracy/residuals.csv, which scripts/residuals.py makes of our own runs.
std::vector<Residual> shipped_residuals();

// Errors (Failure::input, with the line): a missing column, a number that is none, a time that is not above 0, a part
// that is no "CLASS=MILLISECONDS".
std::vector<Residual> residuals_of(std::string_view csv, const std::string& source);

}  // namespace shardsim
