#include "cli/serve/desk.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/workers.h"

namespace shardsim {

std::string Desk::ask(const std::string& page, Work work, const std::function<std::string()>& instead) {
  auto question = std::make_unique<Question>();
  question->page = page;
  question->work = std::move(work);
  question->instead = instead;
  std::future<std::string> answer = question->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const bool older = !page.empty() && (*at)->page == page;
      if (older) (*at)->answer.set_value((*at)->instead());
      at = older ? waiting_.erase(at) : std::next(at);
    }
    waiting_.push_back(std::move(question));
  }
  arrived_.notify_one();
  return answer.get();
}

bool Desk::is_replaced(const std::string& page) {
  const std::lock_guard lock(mutex_);
  return !page.empty() && std::ranges::any_of(waiting_, [&](const auto& each) { return each->page == page; });
}

std::unique_ptr<Desk::Question> Desk::next() {
  constexpr std::chrono::milliseconds kPatience(100);
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, kPatience, [&] { return !waiting_.empty(); });
  if (waiting_.empty()) return nullptr;
  std::unique_ptr<Question> question = std::move(waiting_.front());
  waiting_.pop_front();
  return question;
}

void Desk::answer(Question& question, const std::function<bool()>& stopped) {
  try {
    question.answer.set_value(question.work([&] { return stopped() || is_replaced(question.page); }));
  } catch (const Interrupted&) {
    question.answer.set_value(question.instead());
  } catch (...) {
    question.answer.set_exception(std::current_exception());
  }
}

void Desk::serve(const std::function<bool()>& stopped) {
  while (!stopped()) {
    if (const std::unique_ptr<Question> question = next()) answer(*question, stopped);
  }
}

}  // namespace shardsim
