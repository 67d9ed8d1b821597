#pragma once

namespace shardsim {

// What the machine's processors did between two looks, as shares of their time: an emulated cluster on a busy machine
// is slower than its shapers.
struct CpuShares {
  double busy = 0;
  double stolen = 0;   // by other virtual machines
  double softirq = 0;  // carrying packets
};

// A look at /proc/stat; all 0 where there is none.
class CpuWatch {
 public:
  CpuWatch() : start_(read()) {}
  CpuShares since_start() const;

 private:
  struct Ticks {
    double total = 0, idle = 0, stolen = 0, softirq = 0;
  };
  static Ticks read();
  Ticks start_;
};

}  // namespace shardsim
