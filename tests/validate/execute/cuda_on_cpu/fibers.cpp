#include "tests/validate/execute/cuda_on_cpu/fibers.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

// Marks bytes as those of no variable, of which frames that never returned may have left marks.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_UNPOISON_MEMORY_REGION
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace shardsim::on_cpu {
namespace {

constexpr std::size_t kStack = 64 * 1024;
constexpr unsigned kWarp = 32;

// Where the threads of a warp, or of the whole block, wait for each other and leave values.
struct Meeting {
  unsigned members = 0;  // 0: all threads of the block that have not ended
  unsigned arrived = 0;
  unsigned round = 0;
  std::uint64_t values[2][kWarp] =
      {};  // of even and odd rounds: who is early in the next one leaves what others still read
};

// libc's own: that of the address sanitizer looks at the whole stack at every jump, as if frames had ended.
void jump_to(jmp_buf place) {
  static const auto jump = reinterpret_cast<void (*)(jmp_buf, int)>(dlsym(RTLD_NEXT, "_longjmp"));
  jump(place, 1);
}

// Where a stack was left, or is to begin. swapcontext would ask the system for the mask of signals at every change,
// which took nine tenths of the time of all kernels.
struct Place {
  ucontext_t start{};
  jmp_buf left;
  bool begun = true;

  void change_to(Place& to) {
    if (_setjmp(left) != 0) return;
    if (to.begun) return jump_to(to.left);
    to.begun = true;
    setcontext(&to.start);
  }
};

// The stack and context on which a thread of a block runs until it ends.
struct Fiber {
  Place place;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
};

// The blocks of one grid. A thread begins where the one before it has ended: only one that waits for others keeps its
// fiber and makes the next thread take another.
class Blocks {
 public:
  using Fibers = std::vector<std::unique_ptr<Fiber>>;

  Blocks(const dim3& size, const std::function<void()>& thread, Fibers& fibers)
      : size_(size), thread_(thread), fibers_(fibers), threads_(size.x * size.y * size.z) {
    if (threads_.empty() || threads_.size() > 1024) throw std::logic_error("a block has 1 to 1,024 threads");
  }

  void run_one() {
    std::ranges::fill(threads_, Thread{});
    of_masks_.clear();
    all_ = {};
    living_ = static_cast<unsigned>(threads_.size());
    current_ = living_ - 1;  // so that thread 0 comes next
    give_way(caller_);
    if (living_ > 0) throw std::logic_error("threads of a block wait for each other for ever");
  }

  // Waits for all members of the meeting.
  void meet(Meeting& meeting) {
    const unsigned round = meeting.round;
    ++meeting.arrived;
    if (!complete(meeting)) {
      Thread& own = threads_[current_];
      own.waits_at = &meeting;
      own.round = round;
      give_way(own.on->place);
      own.waits_at = nullptr;
    }
    if (meeting.round != round) return;
    meeting.arrived = 0;
    ++meeting.round;
  }

  // Waits for all threads of the block that have not ended.
  void meet_all() { meet(all_); }

  void meet_warp(unsigned mask) { meet(meeting(mask)); }
  unsigned lane() const { return current_ % kWarp; }
  Meeting& meeting(unsigned mask) {
    Meeting& of_mask = of_masks_[{current_ / kWarp, mask}];
    of_mask.members = static_cast<unsigned>(std::popcount(mask));
    return of_mask;
  }

 private:
  struct Thread {
    Fiber* on = nullptr;  // once it has begun
    const Meeting* waits_at = nullptr;
    unsigned round = 0;  // of that meeting
    bool done = false;
  };

  bool complete(const Meeting& meeting) const {
    return meeting.arrived >= (meeting.members == 0 ? living_ : meeting.members);
  }
  bool can_go_on(const Thread& thread) const {
    if (thread.done) return false;
    return thread.waits_at == nullptr || thread.waits_at->round != thread.round || complete(*thread.waits_at);
  }

  // Makes the next thread that can go on the current one, in turn. False: there is none.
  bool choose_next() {
    const auto count = static_cast<unsigned>(threads_.size());
    for (unsigned i = 1; living_ > 0 && i <= count; ++i) {
      const unsigned next = (current_ + i) % count;
      if (!can_go_on(threads_[next])) continue;
      current_ = next;
      threadIdx = {next % size_.x, next / size_.x % size_.y, next / size_.x / size_.y};
      return true;
    }
    return false;
  }

  // Goes on with the next thread, or with the caller where no thread can. Returns when it is this fiber's turn.
  void give_way(Place& own) {
    Place* next = &caller_;
    if (choose_next()) {
      Fiber*& on = threads_[current_].on;
      if (on == nullptr) on = &free_fiber();
      next = &on->place;
    }
    if (next != &own) own.change_to(*next);
  }

  Fiber& free_fiber() {
    if (free_.empty()) return new_fiber();
    Fiber& last = *free_.back();
    free_.pop_back();
    return last;
  }
  // Begins anew in every grid: grids are run by the threads of several streams.
  Fiber& new_fiber() {
    if (begun_ == fibers_.size()) fibers_.push_back(std::make_unique<Fiber>());
    Fiber& fiber = *fibers_[begun_++];
    ASAN_UNPOISON_MEMORY_REGION(fiber.stack.get(), kStack);
    ucontext_t& start = fiber.place.start;
    getcontext(&start);
    start.uc_stack.ss_sp = fiber.stack.get();
    start.uc_stack.ss_size = kStack;
    start.uc_link = nullptr;  // it never returns
    makecontext(&start, &Blocks::enter, 0);
    fiber.place.begun = false;
    return fiber;
  }
  static void enter();

  // One thread after the other, whichever is the current one.
  void work() {
    while (true) {
      thread_();
      Thread& ended = threads_[current_];
      ended.done = true;
      --living_;
      Fiber& own = *ended.on;
      free_.push_back(&own);
      give_way(own.place);
    }
  }

  dim3 size_;
  const std::function<void()>& thread_;
  Fibers& fibers_;
  std::size_t begun_ = 0;  // of these
  std::vector<Fiber*> free_;
  std::vector<Thread> threads_;
  std::map<std::pair<unsigned, unsigned>, Meeting> of_masks_;  // of warp and mask
  Meeting all_;
  Place caller_;
  unsigned current_ = 0, living_ = 0;
};

Blocks* running = nullptr;  // one grid runs at a time

void Blocks::enter() {
  running->work();
}

}  // namespace

void run_grid(const dim3& grid, const dim3& block, const std::function<void()>& thread) {
  static Blocks::Fibers fibers;
  gridDim = grid;
  blockDim = block;
  Blocks blocks(block, thread, fibers);
  running = &blocks;
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) blocks.run_one();
  running = nullptr;
}

}  // namespace shardsim::on_cpu

void __syncthreads() {
  shardsim::on_cpu::running->meet_all();
}

void __syncwarp(unsigned mask) {
  shardsim::on_cpu::running->meet_warp(mask);
}

void __threadfence() {}  // threads of all blocks see each other's writes at once

unsigned atomicAdd(unsigned* to, unsigned value) {
  const unsigned before = *to;
  *to += value;
  return before;
}

unsigned shardsim_lane() {
  return shardsim::on_cpu::running->lane();
}

std::uint64_t shardsim_shuffled(unsigned mask, std::uint64_t own, unsigned from) {
  shardsim::on_cpu::Blocks& block = *shardsim::on_cpu::running;
  if ((mask >> block.lane() & 1U) == 0) throw std::logic_error("a shuffle by a thread outside its mask");
  if ((mask >> from & 1U) == 0) throw std::logic_error("a shuffle from a thread outside the mask");
  auto& meeting = block.meeting(mask);
  std::uint64_t* const values = meeting.values[meeting.round % 2];
  values[block.lane()] = own;
  block.meet(meeting);
  return values[from];
}

unsigned __ballot_sync(unsigned mask, int holds) {
  shardsim::on_cpu::Blocks& block = *shardsim::on_cpu::running;
  auto& meeting = block.meeting(mask);
  std::uint64_t* const values = meeting.values[meeting.round % 2];
  values[block.lane()] = holds != 0 ? 1 : 0;
  block.meet(meeting);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1U) != 0 && values[lane] != 0) result |= 1U << lane;
  return result;
}
