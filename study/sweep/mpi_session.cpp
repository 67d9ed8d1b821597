#include "study/sweep/mpi_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "base/module.h"
#include "base/packed.h"
#include "base/workers.h"
#include "study/sweep/mpi/mpi_wire.h"

namespace shardsim {
namespace {

enum Tag : int { kPointTag = 1, kAnswerTag, kGoneTag, kHomeTag, kAliveTag, kLeavingTag, kEndTag };

constexpr useconds_t kMpiPauseUs = 200;  // between two looks: MPI's own waiting takes a whole core
constexpr double kMpiLookSeconds = 0.1;
// A launcher that lets a job go on without a rank that died (mpirun --enable-recovery) tells nobody of it, so ranks say
// that they live. One that is thought dead and is not costs nothing but its answers.
constexpr double kAliveEverySeconds = 1, kSilentSeconds = 15;
constexpr double kFirstSignSeconds = 600;  // it reads the scenario first, and so does rank 0
constexpr const char* kMpiFile = "shardsim_mpi.so";

// Returns how many processes the launcher says it has started; 1 where there is none. Open MPI, MPICH and Slurm's PMI.
int launched_processes() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const text = std::getenv(name);
    if (text != nullptr && std::atoi(text) > 1) return std::atoi(text);
  }
  return 1;
}

const ShardsimMpiWire* loaded_wire() {
  std::string why;
  using WireEntry = const ShardsimMpiWire* (*)(void*);
  const Module module = load_module(kMpiFile, "shardsim_mpi_wire", why);
  if (module.library != nullptr) {
    if (const ShardsimMpiWire* const wire = reinterpret_cast<WireEntry>(module.function)(module.library)) return wire;
    why = fmt::format("the MPI that {} was built with lacks a function", kMpiFile);
  }
  throw run_error(
      "mpirun has started this program, whose MPI part cannot be loaded: " + why,
      "Install the development files of MPI (Debian: libopenmpi-dev) and build again, or start it once, with -j N");
}

}  // namespace

struct MpiSession::Wire {
  const ShardsimMpiWire* functions;

  void check(int code, const char* doing) const {
    if (code == 0) return;
    std::array<char, 512> text{};
    functions->text_of(code, text.data(), static_cast<int>(text.size()));
    throw run_error(fmt::format("MPI failed while {}: {}", doing, text.data()), "");
  }
  void send(int to, Tag tag, const std::string& bytes) const {
    check(functions->send(to, tag, bytes.data(), static_cast<int>(bytes.size())), "sending");
  }
  // The sender, or -1.
  int receive(Tag tag, std::string& bytes) const {
    int from = -1, count = 0;
    check(functions->look(tag, &from, &count), "looking for messages");
    if (from < 0) return from;
    bytes.resize(static_cast<std::size_t>(count));
    check(functions->receive(from, tag, bytes.data(), count), "receiving");
    return from;
  }
};

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

class MpiCrew final : public Crew {
 public:
  // `silent`: ranks that were not heard of for too long, added to as they are found.
  MpiCrew(const MpiSession::Wire& wire, int members, std::set<int>& silent)
      : wire_(wire), silent_(silent), heard_(static_cast<std::size_t>(members)) {}

  int size() const override { return static_cast<int>(heard_.size()); }
  void give(int member, std::uint32_t point) override { wire_.send(member + 1, kPointTag, packed(point)); }

  std::optional<Answer> next() override {
    say_alive();
    std::string bytes;
    for (const auto begin = Clock::now(); seconds_since(begin) < kMpiLookSeconds;) {
      while (heard_from(kAliveTag, bytes) > 0) {
      }
      if (const int from = heard_from(kAnswerTag, bytes)) return Answer{from - 1, false, bytes};
      if (const int from = heard_from(kGoneTag, bytes)) {
        heard_[static_cast<std::size_t>(from - 1)].gone = true;
        return Answer{from - 1, true, bytes};
      }
      ::usleep(kMpiPauseUs);
    }
    return newly_silent();
  }

  bool replace(int) override { return false; }

 private:
  struct Heard {
    Clock::time_point last = Clock::now();
    bool ever = false;  // it has begun to work
    bool gone = false;  // nothing more is expected of it
  };

  // The rank that a message came from; 0 where there is none. Messages of a rank that was given up are heard by nobody.
  int heard_from(Tag tag, std::string& bytes) {
    for (int from = wire_.receive(tag, bytes); from > 0; from = wire_.receive(tag, bytes)) {
      Heard& heard = heard_[static_cast<std::size_t>(from - 1)];
      heard.last = Clock::now();
      heard.ever = true;
      if (!heard.gone) return from;
    }
    return 0;
  }

  void say_alive() {
    if (seconds_since(said_) < kAliveEverySeconds) return;
    said_ = Clock::now();
    for (int member = 0; member < size(); ++member)
      if (!heard_[static_cast<std::size_t>(member)].gone) wire_.send(member + 1, kAliveTag, "");
  }

  std::optional<Answer> newly_silent() {
    for (int member = 0; member < size(); ++member) {
      Heard& heard = heard_[static_cast<std::size_t>(member)];
      const double most = heard.ever ? kSilentSeconds : kFirstSignSeconds;
      if (heard.gone || seconds_since(heard.last) < most) continue;
      heard.gone = true;
      silent_.insert(member + 1);
      return Answer{member, true, fmt::format("rank {}: no sign of life for {:.0f} s", member + 1, most)};
    }
    return std::nullopt;
  }

  const MpiSession::Wire& wire_;
  std::set<int>& silent_;
  std::vector<Heard> heard_;  // by member
  Clock::time_point said_ = Clock::now();
};

// Returns a rank's answer for one point: its child's result; when two children have died at it, that.
std::string answer_of(Crew& child, std::uint32_t point, const std::function<bool()>& stopped) {
  std::string bytes;
  CrewWatch watch;
  watch.waiting = [&] { throw_if_interrupted(stopped); };
  watch.finished = [&](const PointResult& result) { bytes = packed(result); };
  hand_out(child, {point}, watch);
  return bytes;
}

}  // namespace

MpiSession::MpiSession(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {
  wire_->check(wire_->functions->start(&rank_, &size_), "starting");
}

std::unique_ptr<MpiSession> MpiSession::join() {
  const int launched = launched_processes();
  if (launched < 2) return nullptr;
  auto wire = std::make_unique<Wire>();
  wire->functions = loaded_wire();
  std::unique_ptr<MpiSession> session(new MpiSession(std::move(wire)));
  if (session->size() != launched)
    throw run_error(
        fmt::format("the launcher has started {} processes, and MPI knows of {}", launched, session->size()),
        "Start it with the mpirun of the MPI that it was built with");
  return session;
}

MpiSession::~MpiSession() {
  try {
    rank_ == 0 ? send_home() : leave();
    std::string left;  // messages nobody took would keep some MPI from ending
    for (const Tag tag : {kPointTag, kAnswerTag, kGoneTag, kHomeTag, kAliveTag}) {
      while (wire_->receive(tag, left) >= 0) {
      }
    }
  } catch (const Error&) {  // MPI is broken: there is nothing more to tidy
  }
  if (silent_.empty()) wire_->functions->end();
}

// To end MPI takes all ranks, and would wait for one that has died for ever: where one does not answer, the others are
// told to leave without.
void MpiSession::send_home() {
  std::set<int> missing;
  for (int rank = 1; rank < size_; ++rank)
    if (!silent_.contains(rank)) missing.insert(rank);
  for (const int rank : missing) wire_->send(rank, kHomeTag, "");
  std::string word;
  for (const auto begin = Clock::now(); !missing.empty() && seconds_since(begin) < kSilentSeconds;) {
    if (const int from = wire_->receive(kLeavingTag, word); from > 0)
      missing.erase(from);
    else
      ::usleep(kMpiPauseUs);
  }
  silent_.merge(missing);
  for (int rank = 1; rank < size_; ++rank)
    if (!silent_.contains(rank)) wire_->send(rank, kEndTag, silent_.empty() ? "" : "without");
}

void MpiSession::leave() {
  if (!silent_.empty()) return;
  wire_->send(0, kLeavingTag, "");
  std::string word;
  for (const auto begin = Clock::now(); wire_->receive(kEndTag, word) < 0; ::usleep(kMpiPauseUs)) {
    if (seconds_since(begin) < kFirstSignSeconds) continue;
    silent_.insert(0);
    return;
  }
  if (!word.empty()) silent_.insert(rank_);
}

std::unique_ptr<Crew> MpiSession::crew() {
  return std::make_unique<MpiCrew>(*wire_, size_ - 1, silent_);
}

void MpiSession::serve(const PointTask& task, const std::function<bool()>& interrupted) {
  const auto child = make_local_crew(1, task);
  std::string bytes;
  bool home = false;
  auto said = Clock::now(), heard = said;
  const auto stopped = [&] {
    if (seconds_since(said) >= kAliveEverySeconds) {
      wire_->send(0, kAliveTag, "");
      said = Clock::now();
    }
    std::string word;
    if (wire_->receive(kAliveTag, word) >= 0) heard = Clock::now();
    if (seconds_since(heard) > kFirstSignSeconds) silent_.insert(0);
    home = home || came_home() || !silent_.empty() || (interrupted && interrupted());
    return home;
  };
  try {
    while (!stopped()) {
      if (wire_->receive(kPointTag, bytes) >= 0)
        wire_->send(0, kAnswerTag, answer_of(*child, unpacked<std::uint32_t>(bytes), stopped));
      else
        ::usleep(kMpiPauseUs);
    }
  } catch (const Interrupted&) {  // in the middle of a point
  }
}

void MpiSession::give_up(const std::string& why) {
  wire_->send(0, kGoneTag, fmt::format("rank {}: {}", rank_, why));
  while (!came_home()) ::usleep(kMpiPauseUs);
}

bool MpiSession::came_home() {
  std::string word;
  return wire_->receive(kHomeTag, word) >= 0;
}

}  // namespace shardsim
