#include "base/staged_folder.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

struct Move {
  fs::path from, to;
};

// Everything that can be refused is refused before the first file moves.
std::vector<Move> planned_moves(const fs::path& hidden, const fs::path& target) {
  std::vector<Move> moves;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(hidden)) {
    if (!entry.is_regular_file()) continue;
    moves.push_back({entry.path(), result_target(target / entry.path().lexically_relative(hidden))});
  }
  return moves;
}

}  // namespace

StagedFolder::StagedFolder(fs::path target) : target_(std::move(target)) {
  made_target_ = !is_there(target_);
  hidden_ = target_ / (".writing." + std::to_string(::getpid()));
  std::error_code failure;
  fs::create_directories(hidden_, failure);
  if (failure) throw cannot_write(target_, failure.message());
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  fs::remove_all(hidden_, ignored);
  if (made_target_) fs::remove(target_, ignored);  // only when empty
}

void StagedFolder::fill(const std::function<void(const fs::path&)>& write) const {
  try {
    write(hidden_);
  } catch (const Error& error) {
    throw Error(error.failure(), Place{}, replaced(error.what(), hidden_.string(), target_.string()), "");
  }
}

void StagedFolder::commit() {
  for (const Move& move : planned_moves(hidden_, target_)) {
    std::error_code failure;
    fs::rename(move.from, move.to, failure);
    if (failure) throw cannot_write(move.to, failure.message());
  }
}

}  // namespace shardsim
