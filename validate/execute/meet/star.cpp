#include "validate/execute/meet/star.h"

#include <algorithm>

#include "base/error.h"
#include "validate/execute/meet/clock.h"

namespace shardsim {
namespace {

using Call = Contribution::Call;

constexpr double kSettleS = 2;    // for a verdict
constexpr double kFarewellS = 2;  // for the others to hang up
constexpr double kSayAgainS = 0.2;

}  // namespace

Star::Star(const Launch& launch, Joined joined, RendezvousLimits limits)
    : launch_(launch),
      limits_(std::move(limits)),
      address_(joined.address),
      links_(std::move(joined.links)),
      round_(launch.world_size),
      said_at_(Clock::now()),
      heard_(links_.size()),
      gone_(links_.size(), false),
      salvaged_(links_.size()) {
  watcher_ = std::thread([this] { watch(); });
}

Star::~Star() {
  part();
}

// After a failure rank 0 stays until the others have heard of it: closing earlier could drop the message on its way.
void Star::part() {
  if (watcher_.joinable() && root()) {
    Lock lock(mutex_);
    if (!failure_.empty()) wait_for_links(lock, kFarewellS);
  }
  stop_watching();
}

void Star::stop_watching() {
  ending_ = true;
  wake_.raise();
  if (watcher_.joinable()) watcher_.join();
}

void Star::check_failure() const {
  if (!failure_.empty()) throw run_error(failure_, "What that rank printed may say more");
  if (over_) throw run_error("a call after the end of the rendezvous", "");
}

std::string Star::call(Contribution contribution) {
  Lock lock(mutex_);
  check_failure();
  result_.reset();
  calling_ = contribution.what;
  leaving_ = contribution.call == Call::leave;
  contribute(lock, contribution);
  changed_.wait(lock, [this] { return result_ || !failure_.empty(); });
  calling_.clear();
  if (!result_) check_failure();
  return *std::move(result_);
}

void Star::contribute(Lock& lock, const Contribution& contribution) {
  if (root()) {
    const std::string wrong = round_.add(0, contribution);
    if (!wrong.empty()) cause_.reported(report_text(0, wrong, contribution.what));
    finish_round_if_complete();
    return;
  }
  const Frame frame{FrameKind::contribution, packed_contribution(contribution)};
  lock.unlock();
  if (!links_[0]->post(frame)) wake_.raise();
  lock.lock();
}

void Star::finish_round_if_complete() {
  if (!round_.complete()) return;
  result_ = round_.result(true);
  over_ = round_.call() == Call::leave;
  std::ranges::fill(heard_, "after " + round_.what());
  const Frame frame{FrameKind::result, round_.result(false)};
  round_.clear();
  post_to_all(frame);
  changed_.notify_all();
}

void Star::post_to_all(const Frame& frame) {
  bool all_sent = true;
  for (std::size_t rank = 0; rank < links_.size(); ++rank)
    if (links_[rank] && !gone_[rank]) all_sent = links_[rank]->post(frame) && all_sent;
  if (!all_sent) wake_.raise();
}

std::vector<std::string> Star::all_gather(std::string_view text, std::string_view what) {
  return unpacked(call({Call::all_gather, std::string(what), std::string(text)}));
}

std::vector<std::string> Star::gather(std::string_view text, std::string_view what) {
  return unpacked(call({Call::gather, std::string(what), std::string(text)}));
}

std::string Star::from_root(std::string_view text, std::string_view what) {
  return call({Call::from_root, std::string(what), root() ? std::string(text) : ""});
}

void Star::barrier(std::string_view what) {
  call({Call::barrier, std::string(what), ""});
}

Rendezvous::ClockOffset Star::clock_offset() {
  return shared_offset(*this, limits_.clock.empty() ? clock_identity() : limits_.clock,
                       [this] { return ask_root_clock(); });
}

std::int64_t Star::ask_root_clock() {
  Lock lock(mutex_);
  check_failure();
  clock_answer_.reset();
  lock.unlock();
  links_[0]->post({FrameKind::ping, ""});
  lock.lock();
  changed_.wait(lock, [this] { return clock_answer_ || !failure_.empty(); });
  check_failure();
  return *clock_answer_;
}

void Star::fail(std::string_view why, std::string_view doing) {
  Lock lock(mutex_);
  if (!failure_.empty() || over_) return;
  const Frame report{FrameKind::report, packed({std::string(why), std::string(doing)})};
  if (root())
    cause_.reported(report_text(0, std::string(why), std::string(doing)));
  else if (!gone_[0])
    links_[0]->post(report);
  wake_.raise();
  if (std::this_thread::get_id() == watcher_.get_id()) return;
  changed_.wait_until(lock, after_seconds(kSettleS), [this] { return !failure_.empty(); });
  if (failure_.empty()) settle(report_text(launch_.rank, std::string(why), std::string(doing)));
}

void Star::settle(const std::string& failure) {
  failure_ = failure;
  if (root()) post_to_all({FrameKind::failed, failure});
  wake_.raise();
  changed_.notify_all();
}

std::string Star::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Star::on_failure(std::function<void(const std::string&)> react) {
  const std::lock_guard lock(mutex_);
  reactions_.push_back(std::move(react));
  wake_.raise();
}

void Star::doing(std::string_view operation) {
  const std::lock_guard lock(mutex_);
  doing_ = operation;
  if (Clock::now() - said_at_ >= std::chrono::duration<double>(kSayAgainS)) say_alive();
}

bool Star::any_link_open() const {
  for (std::size_t rank = 0; rank < links_.size(); ++rank)
    if (links_[rank] && !gone_[rank]) return true;
  return false;
}

void Star::wait_for_links(Lock& lock, double limit_s) {
  changed_.wait_until(lock, after_seconds(limit_s), [this] { return !any_link_open(); });
}

std::vector<std::string> Star::salvage(std::string_view text, double limit_s) {
  if (root()) return salvage_at_root(text, limit_s);
  if (salvage_to_root(text, limit_s)) return {};
  std::vector<std::string> own(links_.size());
  own[static_cast<std::size_t>(launch_.rank)] = text;
  return own;
}

std::vector<std::string> Star::salvage_at_root(std::string_view text, double limit_s) {
  Lock lock(mutex_);
  changed_.wait_until(lock, after_seconds(limit_s), [this] {
    for (std::size_t rank = 1; rank < links_.size(); ++rank)
      if (!gone_[rank] && !salvaged_[rank]) return false;
    return true;
  });
  std::vector<std::string> texts;
  for (const auto& salvaged : salvaged_) texts.push_back(salvaged.value_or(""));
  texts[0] = text;
  return texts;
}

// False when rank 0 has died, or does not answer.
bool Star::salvage_to_root(std::string_view text, double limit_s) {
  Lock lock(mutex_);
  if (gone_[0]) return false;
  lock.unlock();
  links_[0]->post({FrameKind::salvage, std::string(text)});
  wake_.raise();
  lock.lock();
  changed_.wait_until(lock, after_seconds(limit_s), [this] { return salvage_arrived_ || gone_[0]; });
  return salvage_arrived_;
}

// Rank 0 hangs up last, since closing with something unread drops what is still on its way to the others.
void Star::leave() {
  call({Call::leave, "the end of the run", ""});
  if (root()) {
    Lock lock(mutex_);
    wait_for_links(lock, kFarewellS);
  }
  stop_watching();
  for (const auto& link : links_)
    if (link) link->hang_up();
}

std::unique_ptr<Rendezvous> Rendezvous::join(const Launch& launch, double limit_s) {
  return std::make_unique<Star>(launch, join_ranks(launch, limit_s));
}

}  // namespace shardsim
