#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/program/program.h"
#include "sim/timeline/timeline.h"
#include "validate/execute/devices/machine.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

struct MachineOptions {
  std::string transport;    // "" : the machine's own default
  int threads = 1;          // CPU: per compute operation
  bool check_data = false;  // plain SGD with learning rate 1, and iterations that do not overlap
};

struct MachineEntry {
  std::string_view name;  // as --device has it
  std::string_view help;
  std::string_view transports;  // comma-separated, the default first
  std::unique_ptr<Machine> (*make)(const Program& program, Rendezvous& rendezvous, const MachineOptions& options);
  // Refuses what this machine does not execute of a Program that others do, before a rank starts. Null: nothing.
  void (*check)(const Program& program, const ProgramPlaces& places) = nullptr;
};

std::span<const MachineEntry> machines();  // alphabetical; "cuda" only where it was built

// Errors (Failure::input): not in the table, which lists the known names.
const MachineEntry& machine_named(const std::string& name);

struct ExecuteOptions {
  std::string device = "cpu";
  MachineOptions machine;
  int warmup = 50;
  int iterations = 20;
  bool apart = false;  // every iteration starts alone, synchronised, as collective benchmarks do; else back to back
};

// Executes the Program with this process as one of its ranks. Every rank calls. Rank 0 gets the Timeline of all ranks;
// the others get an empty one. After a failure the lowest surviving rank gets what was measured so far, with `complete`
// false; the Error is thrown on every rank once `save` has been given that Timeline.
Timeline execute(const Program& program, Rendezvous& rendezvous, const ExecuteOptions& options,
                 const std::function<void(const Timeline&)>& save);

// Runs `iterations` iterations with whole-number data and compares gathered and updated rows with a single process, bit
// for bit, on every rank. Returns "" or the first difference (the same text on every rank).
std::string check_data(const Program& program, Rendezvous& rendezvous, const ExecuteOptions& options, int iterations);

}  // namespace shardsim
