#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <string>

namespace shardsim {

// The threads of a server leave their questions here, and one thread answers them, one after the other: simulations
// make processes, which one thread alone should.
class Desk {
 public:
  // Answers a question; `given_up` says whether nobody waits for it any longer.
  using Work = std::function<std::string(const std::function<bool()>& given_up)>;

  // Waits for the answer of `work`. A newer question of the same page replaces an older one that is not answered yet:
  // the older one gets the answer of `instead`. Questions of the page "" never replace each other.
  std::string ask(const std::string& page, Work work, const std::function<std::string()>& instead);

  // Answers questions in this thread until `stopped` says so, which is asked now and then.
  void serve(const std::function<bool()>& stopped);

 private:
  struct Question {
    std::string page;
    Work work;
    std::function<std::string()> instead;
    std::promise<std::string> answer;
  };
  bool is_replaced(const std::string& page);
  std::unique_ptr<Question> next();
  void answer(Question& question, const std::function<bool()>& stopped);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::list<std::unique_ptr<Question>> waiting_;
};

}  // namespace shardsim
