#include "validate/execute/meet/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace shardsim {
namespace {

// Collective calls.
constexpr const char *kAllGather = "all_gather", *kGather = "gather", *kFromRoot = "from_root", *kBarrier = "barrier",
                     *kLeave = "leave";

constexpr double kSettleS = 2;    // for a verdict
constexpr double kFarewellS = 2;  // for the others to hang up
constexpr double kSayAgainS = 0.2;

}  // namespace

Rendezvous::Rendezvous(const Launch& launch, Joined joined, RendezvousLimits limits)
    : launch_(launch),
      limits_(std::move(limits)),
      address_(joined.address),
      run_key_(joined.run_key),
      links_(std::move(joined.links)),
      texts_(links_.size()),
      said_at_(Clock::now()),
      heard_(links_.size()),
      gone_(links_.size(), false),
      salvaged_(links_.size()),
      strangers_(joined.strangers) {
  allow(kShortText);
  watcher_ = std::thread([this] { watch(); });
}

// After a failure rank 0 stays until the others have heard of it: closing earlier could drop the message on its way.
Rendezvous::~Rendezvous() {
  if (watcher_.joinable() && root()) {
    Lock lock(mutex_);
    if (!failure_.empty()) wait_for_links(lock, kFarewellS);
  }
  stop_watching();
}

void Rendezvous::stop_watching() {
  ending_ = true;
  wake_.raise();
  if (watcher_.joinable()) watcher_.join();
}

// Rank 0 gets one rank's text at a time, the others those of all ranks at once.
void Rendezvous::allow(std::size_t text_bytes) {
  constexpr std::size_t kAround = 64 << 10;  // what the call is named, and what was going on
  const std::size_t texts = root() ? 1 : links_.size();
  for (const auto& link : links_)
    if (link) link->set_longest(texts * (text_bytes + sizeof(std::uint64_t)) + kAround);
}

void Rendezvous::check_failure() const {
  if (!failure_.empty()) throw run_error(failure_, "What that rank printed may say more");
  if (over_) throw run_error("a call after the end of the rendezvous", "");
}

std::string Rendezvous::call(const Contribution& contribution) {
  Lock lock(mutex_);
  check_failure();
  result_.reset();
  calling_ = contribution.what;
  leaving_ = contribution.call == kLeave;
  contribute(lock, contribution);
  changed_.wait(lock, [this] { return result_ || !failure_.empty(); });
  calling_.clear();
  if (!result_) check_failure();
  return *std::move(result_);
}

void Rendezvous::contribute(Lock& lock, const Contribution& contribution) {
  if (root()) return add(0, contribution);
  const Frame frame{FrameKind::contribution, pack_texts({contribution.call, contribution.what, contribution.text})};
  lock.unlock();
  if (!links_[0]->post(frame)) wake_.raise();
  lock.lock();
}

void Rendezvous::add(int rank, const Contribution& contribution) {
  if (here_ == 0) {
    first_ = contribution;
    began_ = Clock::now();
  }
  const auto& [call, what, text] = contribution;
  if (call != first_.call || texts_[rank]) {
    const std::string wrong = fmt::format("the ranks do not agree on the next step: '{}' and '{}'", what, first_.what);
    return cause_.reported(report_text(rank, wrong, what));
  }
  texts_[rank] = text;
  if (++here_ == texts_.size()) finish_round();
}

void Rendezvous::finish_round() {
  std::string for_root, for_others;
  if (first_.call == kFromRoot) for_others = for_root = *texts_[0];
  if (first_.call == kAllGather || first_.call == kGather) {
    std::vector<std::string> texts;
    for (auto& text : texts_) texts.push_back(*std::move(text));
    for_root = pack_texts(texts);
    if (first_.call == kAllGather) for_others = for_root;
  }
  over_ = first_.call == kLeave;
  std::ranges::fill(heard_, "after " + first_.what);
  std::ranges::fill(texts_, std::nullopt);
  here_ = 0;
  result_ = std::move(for_root);
  post_to_all({FrameKind::result, for_others});
  changed_.notify_all();
}

void Rendezvous::post_to_all(const Frame& frame) {
  bool all_sent = true;
  for (std::size_t rank = 0; rank < links_.size(); ++rank)
    if (links_[rank] && !gone_[rank]) all_sent = links_[rank]->post(frame) && all_sent;
  if (!all_sent) wake_.raise();
}

std::vector<std::string> Rendezvous::all_gather(std::string_view text, std::string_view what) {
  return unpack_texts(call({kAllGather, std::string(what), std::string(text)}));
}

std::vector<std::string> Rendezvous::gather(std::string_view text, std::string_view what) {
  return unpack_texts(call({kGather, std::string(what), std::string(text)}));
}

std::string Rendezvous::from_root(std::string_view text, std::string_view what) {
  return call({kFromRoot, std::string(what), root() ? std::string(text) : ""});
}

void Rendezvous::barrier(std::string_view what) {
  call({kBarrier, std::string(what), ""});
}

std::int64_t Rendezvous::ask_root_clock() {
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

void Rendezvous::fail(std::string_view why, std::string_view doing) {
  Lock lock(mutex_);
  if (!failure_.empty() || over_) return;
  const Frame report{FrameKind::report, pack_texts({std::string(why), std::string(doing)})};
  if (root())
    cause_.reported(report_text(0, std::string(why), std::string(doing)));
  else if (!gone_[0])
    links_[0]->post(report);
  wake_.raise();
  if (std::this_thread::get_id() == watcher_.get_id()) return;
  changed_.wait_until(lock, after_seconds(kSettleS), [this] { return !failure_.empty(); });
  if (failure_.empty()) settle(report_text(launch_.rank, std::string(why), std::string(doing)));
}

void Rendezvous::settle(const std::string& failure) {
  failure_ = failure;
  if (root()) post_to_all({FrameKind::failed, failure});
  wake_.raise();
  changed_.notify_all();
}

std::string Rendezvous::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Rendezvous::on_failure(std::function<void(const std::string&)> react) {
  const std::lock_guard lock(mutex_);
  reactions_.push_back(std::move(react));
  wake_.raise();
}

void Rendezvous::doing(std::string_view operation) {
  const std::lock_guard lock(mutex_);
  doing_ = operation;
  if (Clock::now() - said_at_ >= std::chrono::duration<double>(kSayAgainS)) say_alive();
}

// Until the others have hung up.
void Rendezvous::wait_for_links(Lock& lock, double limit_s) {
  changed_.wait_until(lock, after_seconds(limit_s), [this] {
    for (std::size_t rank = 0; rank < links_.size(); ++rank)
      if (links_[rank] && !gone_[rank]) return false;
    return true;
  });
}

std::vector<std::string> Rendezvous::salvage(std::string_view text, double limit_s) {
  if (root()) return salvage_at_root(text, limit_s);
  if (salvage_to_root(text, limit_s)) return {};
  std::vector<std::string> own(links_.size());
  own[static_cast<std::size_t>(launch_.rank)] = text;
  return own;
}

std::vector<std::string> Rendezvous::salvage_at_root(std::string_view text, double limit_s) {
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
bool Rendezvous::salvage_to_root(std::string_view text, double limit_s) {
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
void Rendezvous::leave() {
  call({kLeave, "the end of the run", ""});
  if (root()) {
    Lock lock(mutex_);
    wait_for_links(lock, kFarewellS);
  }
  stop_watching();
  for (const auto& link : links_)
    if (link) link->hang_up();
}

std::unique_ptr<Rendezvous> Rendezvous::join(const Launch& launch, double limit_s, const RendezvousLimits& limits) {
  return std::unique_ptr<Rendezvous>(new Rendezvous(launch, join_ranks(launch, limit_s), limits));
}

}  // namespace shardsim
