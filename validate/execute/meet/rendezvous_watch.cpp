#include <fmt/format.h>
#include <poll.h>

#include <charconv>

#include "validate/execute/meet/clock.h"
#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/rendezvous.h"

// The work of a Rendezvous's watch thread.
namespace shardsim {
namespace {

constexpr auto kSayAgain = std::chrono::milliseconds(200);
constexpr auto kSayStillAlive = std::chrono::seconds(1);

}  // namespace

void Rendezvous::watch() {
  while (!ending_) {
    wait_for_news();
    for (int rank = 0; rank < launch_.world_size; ++rank)
      if (links_[rank] && !links_[rank]->closed()) hear(rank);
    tick();
    run_reactions();
  }
}

void Rendezvous::wait_for_news() {
  std::vector<pollfd> wanted = {{wake_.fd(), POLLIN, 0}};
  for (const auto& link : links_)
    if (link && !link->closed())
      wanted.push_back({link->socket().fd(), static_cast<short>(POLLIN | (link->all_sent() ? 0 : POLLOUT)), 0});
  poll(wanted.data(), wanted.size(), kTickMs);
  wake_.clear();
}

void Rendezvous::hear(int rank) {
  FrameLink& link = *links_[rank];
  link.read();
  while (std::optional<Frame> frame = link.next()) take(rank, std::move(*frame));
  if (link.garbled()) return distrust(rank);
  if (!link.closed()) link.flush();
  if (link.closed()) lost(rank);
}

// Bytes that no rank would send are a reason of their own, not the rank's death.
void Rendezvous::distrust(int rank) {
  const std::lock_guard lock(mutex_);
  if (!over_ && failure_.empty()) cause_.reported(report_text(rank, "it sent " + links_[rank]->complaint(), ""));
  links_[rank]->close();
  gone_[rank] = true;
  changed_.notify_all();
}

void Rendezvous::take(int rank, Frame frame) {
  if (frame.kind == FrameKind::ping) {  // at once: its round trip is measured
    links_[rank]->post({FrameKind::pong, std::to_string(monotonic_ns())});
    return;
  }
  const std::lock_guard lock(mutex_);
  if (frame.kind == FrameKind::contribution) take_contribution(rank, frame);
  if (frame.kind == FrameKind::report) {
    const std::vector<std::string> parts = unpack_texts(frame.text);
    if (parts.size() == 2) cause_.reported(report_text(rank, parts[0], parts[1]));
  }
  if (frame.kind == FrameKind::alive && !frame.text.empty()) heard_[rank] = frame.text;
  if (frame.kind == FrameKind::failed && failure_.empty()) settle(frame.text);
  if (frame.kind == FrameKind::result) {
    result_ = std::move(frame.text);
    over_ = leaving_;
  }
  if (frame.kind == FrameKind::salvaged) salvage_arrived_ = true;
  if (frame.kind == FrameKind::pong) {
    std::int64_t nanoseconds = 0;
    std::from_chars(frame.text.data(), frame.text.data() + frame.text.size(), nanoseconds);
    clock_answer_ = nanoseconds;
  }
  if (frame.kind == FrameKind::salvage) {
    salvaged_[rank] = std::move(frame.text);
    links_[rank]->post({FrameKind::salvaged, ""});
  }
  changed_.notify_all();
}

void Rendezvous::take_contribution(int rank, const Frame& frame) {
  const std::vector<std::string> parts = unpack_texts(frame.text);
  if (parts.size() != 3) return cause_.reported(report_text(rank, "it sent what is no contribution", ""));
  heard_[rank] = "during " + parts[1];
  add(rank, {parts[0], parts[1], parts[2]});
}

void Rendezvous::lost(int rank) {
  const std::lock_guard lock(mutex_);
  gone_[rank] = true;
  if (!over_ && failure_.empty()) cause_.died(rank, last_known(rank));
  changed_.notify_all();
}

// Ranks do much the same at the same time: where the other one has said nothing, it is what this one does.
std::string Rendezvous::last_known(int rank) const {
  if (!heard_[rank].empty()) return heard_[rank];
  if (!calling_.empty()) return "during " + calling_;
  return doing_.empty() ? "" : "during " + doing_;
}

void Rendezvous::tick() {
  const std::lock_guard lock(mutex_);
  if (over_ || !failure_.empty()) return;
  look_for_silence();
  look_for_stragglers();
  const TimePoint now = Clock::now();
  if (cause_.trouble() && now - cause_.since() >= std::chrono::duration<double>(limits_.grace_s))
    return settle(cause_.text());
  const bool news = !doing_.empty() && doing_ != said_;
  if (now - said_at_ >= kSayStillAlive || (news && now - said_at_ >= kSayAgain)) say_alive();
}

void Rendezvous::look_for_silence() {
  for (int rank = 0; rank < launch_.world_size; ++rank) {
    if (!links_[rank] || gone_[rank]) continue;
    if (Clock::now() - links_[rank]->heard() < std::chrono::duration<double>(limits_.silence_s)) continue;
    cause_.silent(rank, limits_.silence_s, last_known(rank));
    links_[rank]->close();
    gone_[rank] = true;
  }
}

void Rendezvous::look_for_stragglers() {
  const std::chrono::duration<double> limit(limits_.collective_s);
  if (cause_.trouble() || here_ == 0 || Clock::now() - began_ < limit) return;
  std::vector<int> missing;
  for (int rank = 0; rank < launch_.world_size; ++rank)
    if (!texts_[rank]) missing.push_back(rank);
  cause_.reported(
      fmt::format("{} did not come to {} within {:g} s", rank_list(missing), first_.what, limits_.collective_s));
}

void Rendezvous::say_alive() {
  said_ = doing_;
  said_at_ = Clock::now();
  post_to_all({FrameKind::alive, said_.empty() ? "" : "during " + said_});
}

void Rendezvous::run_reactions() {
  std::vector<std::function<void(const std::string&)>> reactions;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) return;
    why = failure_;
    reactions.swap(reactions_);
  }
  for (const auto& react : reactions) react(why);
}

}  // namespace shardsim
