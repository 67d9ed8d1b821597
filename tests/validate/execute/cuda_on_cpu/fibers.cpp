#include "tests/validate/execute/cuda_on_cpu/fibers.h"

#include <ucontext.h>

#include <bit>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace shardsim::on_cpu {
namespace {

constexpr std::size_t kStack = 64 * 1024;
constexpr unsigned kWarp = 32;

// Where the threads of a warp, or of the whole block, wait for each other and leave values.
struct Meeting {
  unsigned arrived = 0;
  unsigned round = 0;
  float values[kWarp] = {};
};

// The threads of one block.
class Block {
 public:
  using Stacks = std::vector<std::unique_ptr<char[]>>;

  Block(const dim3& size, const std::function<void()>& thread, Stacks& stacks)
      : size_(size), thread_(thread), stacks_(stacks) {
    const unsigned count = size.x * size.y * size.z;
    if (count == 0 || count > 1024) throw std::logic_error("a block has 1 to 1,024 threads");
    threads_.resize(count);
    while (stacks_.size() < count) stacks_.push_back(std::make_unique_for_overwrite<char[]>(kStack));
    living_ = count;
    for (unsigned i = 0; i < count; ++i) start(i);
  }

  void run() {
    while (living_ > 0) {
      moved_ = false;
      for (current_ = 0; current_ < threads_.size(); ++current_) {
        if (threads_[current_].done) continue;
        threadIdx = {current_ % size_.x, current_ / size_.x % size_.y, current_ / size_.x / size_.y};
        swapcontext(&scheduler_, &threads_[current_].context);
      }
      if (!moved_) throw std::logic_error("threads of a block wait for each other for ever");
    }
  }

  // Waits for all threads of the block that have not ended.
  void meet_all() {
    meet(all_, [this] { return living_; });
  }

  Meeting& meet_warp(unsigned mask) {
    Meeting& meeting = of_masks_[{current_ / kWarp, mask}];
    meet(meeting, [mask] { return static_cast<unsigned>(std::popcount(mask)); });
    return meeting;
  }
  unsigned lane() const { return current_ % kWarp; }
  Meeting& meeting(unsigned mask) { return of_masks_[{current_ / kWarp, mask}]; }

 private:
  struct Thread {
    ucontext_t context{};
    bool done = false;
  };

  void start(unsigned i) {
    Thread& thread = threads_[i];
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks_[i].get();
    thread.context.uc_stack.ss_size = kStack;
    thread.context.uc_link = &scheduler_;
    makecontext(&thread.context, &Block::enter, 0);
  }
  static void enter();

  template <typename Expected>
  void meet(Meeting& meeting, Expected expected) {
    const unsigned round = meeting.round;
    ++meeting.arrived;
    moved_ = true;
    while (meeting.round == round) {
      if (meeting.arrived >= expected()) {
        meeting.arrived = 0;
        ++meeting.round;
        moved_ = true;
        break;
      }
      swapcontext(&threads_[current_].context, &scheduler_);
    }
  }

  dim3 size_;
  const std::function<void()>& thread_;
  Stacks& stacks_;
  std::vector<Thread> threads_;
  std::map<std::pair<unsigned, unsigned>, Meeting> of_masks_;  // of warp and mask
  Meeting all_;
  ucontext_t scheduler_{};
  unsigned current_ = 0, living_ = 0;
  bool moved_ = false;
};

Block* running = nullptr;  // the program has one thread

void Block::enter() {
  Block& block = *running;
  block.thread_();
  block.threads_[block.current_].done = true;
  --block.living_;
  block.moved_ = true;
}

}  // namespace

void run_grid(const dim3& grid, const dim3& block, const std::function<void()>& thread) {
  static Block::Stacks stacks;
  gridDim = grid;
  blockDim = block;
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
      Block threads(block, thread, stacks);
      running = &threads;
      threads.run();
      running = nullptr;
    }
  }
}

}  // namespace shardsim::on_cpu

void __syncthreads() {
  shardsim::on_cpu::running->meet_all();
}

void __syncwarp(unsigned mask) {
  shardsim::on_cpu::running->meet_warp(mask);
}

float __shfl_xor_sync(unsigned mask, float value, int offset, int width) {
  shardsim::on_cpu::Block& block = *shardsim::on_cpu::running;
  const unsigned lane = block.lane(), lanes = static_cast<unsigned>(width);
  if ((mask >> lane & 1U) == 0) throw std::logic_error("a shuffle by a thread outside its mask");
  block.meeting(mask).values[lane] = value;
  block.meet_warp(mask);
  const unsigned from = lane / lanes * lanes + ((lane % lanes) ^ static_cast<unsigned>(offset));
  const float got = block.meeting(mask).values[from];
  block.meet_warp(mask);
  return got;
}
