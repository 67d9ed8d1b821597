#include "sim/sweep/mpi_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/module.h"
#include "base/packed.h"
#include "base/workers.h"
#include "sim/sweep/mpi/mpi_wire.h"

namespace shardsim {
namespace {

enum Tag : int { kPointTag = 1, kAnswerTag, kGoneTag, kHomeTag };

constexpr useconds_t kMpiPauseUs = 200;  // between two looks: MPI's own waiting takes a whole core
constexpr int kMpiLooks = 500;           // a tenth of a second
constexpr const char* kMpiFile = "shardsim_mpi.so";

// How many processes the launcher says it has started; 1 where there is none. Open MPI, MPICH and Slurm's PMI.
int launched_processes() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const text = std::getenv(name);
    if (text != nullptr && std::atoi(text) > 1) return std::atoi(text);
  }
  return 1;
}

const ShardsimMpiWire* loaded_wire() {
  std::string why;
  using Entry = const ShardsimMpiWire* (*)(void*);
  const Module module = load_module(kMpiFile, "shardsim_mpi_wire", why);
  if (module.library != nullptr) {
    if (const ShardsimMpiWire* const wire = reinterpret_cast<Entry>(module.function)(module.library)) return wire;
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

class MpiCrew final : public Crew {
 public:
  MpiCrew(const MpiSession::Wire& wire, int members) : wire_(wire), members_(members) {}

  int size() const override { return members_; }
  void give(int member, std::uint32_t point) override { wire_.send(member + 1, kPointTag, packed(point)); }

  std::optional<Answer> next() override {
    std::string bytes;
    for (int looks = 0; looks < kMpiLooks; ++looks) {
      if (const int from = wire_.receive(kAnswerTag, bytes); from > 0) return Answer{from - 1, false, bytes};
      if (const int from = wire_.receive(kGoneTag, bytes); from > 0) return Answer{from - 1, true, bytes};
      ::usleep(kMpiPauseUs);
    }
    return std::nullopt;
  }

  bool replace(int) override { return false; }

 private:
  const MpiSession::Wire& wire_;
  int members_;
};

// What a rank answers for one point: its child's result; when two children have died at it, that.
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
  if (rank_ == 0) {
    for (int rank = 1; rank < size_; ++rank) wire_->functions->send(rank, kHomeTag, "", 0);
  }
  std::string left;  // messages nobody took would keep some MPI from ending
  const auto drain = [&](Tag tag) {
    try {
      while (wire_->receive(tag, left) >= 0) {
      }
    } catch (const Error&) {  // MPI is broken: there is nothing more to tidy
    }
  };
  for (const Tag tag : {kPointTag, kAnswerTag, kGoneTag, kHomeTag}) drain(tag);
  wire_->functions->end();
}

std::unique_ptr<Crew> MpiSession::crew() {
  return std::make_unique<MpiCrew>(*wire_, size_ - 1);
}

void MpiSession::serve(const PointTask& task, const std::function<bool()>& interrupted) {
  const auto child = make_local_crew(1, task);
  std::string bytes;
  bool home = false;
  const auto stopped = [&] {
    std::string nothing;
    home = home || wire_->receive(kHomeTag, nothing) >= 0 || (interrupted && interrupted());
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
  std::string bytes;
  while (wire_->receive(kHomeTag, bytes) < 0) ::usleep(kMpiPauseUs);
}

}  // namespace shardsim
