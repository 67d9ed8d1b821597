#include <fmt/format.h>
#include <spawn.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "cli/serve/local_server.h"
#include "study/explore/explorer.h"
#include "study/report/documents/result_document.h"
#include "study/report/documents/result_json.h"

namespace shardsim {
namespace {

// A text of 32 hexadecimal digits that nobody can guess: 128 bits of the system's randomness. Errors: Failure::run
// where the system gives none.
std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw run_error("explore: the system gives no random numbers", "Try again");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// True when both are the same, in a time that does not tell where they differ.
bool is_same_token(std::string_view given, std::string_view token) {
  unsigned differs = given.size() == token.size() ? 0 : 1;
  for (std::size_t at = 0; at < token.size(); ++at) {
    const char other = at < given.size() ? given[at] : '\0';
    differs |= static_cast<unsigned>(static_cast<unsigned char>(token[at]) ^ static_cast<unsigned char>(other));
  }
  return differs == 0;
}

// True when a request to this port may be answered: it was sent to this computer by name (else a name of somebody
// else's leads here), and by a page of this server or by no page at all.
bool is_from_here(std::string_view host, std::string_view origin, std::string_view site, int port) {
  const std::string address = fmt::format("127.0.0.1:{}", port), name = fmt::format("localhost:{}", port);
  if (host != address && host != name) return false;
  if (!origin.empty() && origin != fmt::format("http://{}", host)) return false;
  return site.empty() || site == "same-origin" || site == "none";
}

constexpr std::size_t kMostBody = std::size_t{1} << 20;
constexpr std::int64_t kLeastPort = 1024, kMostPort = 65535;  // lower ones belong to the system
constexpr const char* kJson = "application/json; charset=utf-8";

// The page asks by the last part of its path; each question is answered from a request in JSON.
std::string answered(Explorer& explorer, const std::string& what, const ExploreRequest& request,
                     const WorkerOptions& workers) {
  if (what == "answer") return explorer.answer(request, workers);
  if (what == "scenario.yaml") return explorer.scenario_file(request.now, workers);
  const auto explored = explorer.explored(request.now, workers);
  return what == "report.html" ? report_html(explored->study) : result_to_json(explored->study);
}

std::optional<std::string> type_of(const std::string& what) {
  if (what == "answer" || what == "result.json") return kJson;
  if (what == "scenario.yaml") return "application/yaml; charset=utf-8";
  if (what == "report.html") return "text/html; charset=utf-8";
  return std::nullopt;
}

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

// The server of one exploration: paths are /TOKEN/, /TOKEN/alive, and /TOKEN/WHAT/PAGE, where PAGE is a name that a
// page gives itself.
class ExploreService {
 public:
  ExploreService(Explorer explorer, std::string page, std::string token, int jobs)
      : explorer_(std::move(explorer)), page_(std::move(page)), token_(std::move(token)) {
    workers_.jobs = jobs;
  }

  void set_port(int port) { port_ = port; }
  Desk& desk() { return desk_; }

  // True of requests that come from here and know the token.
  bool admits(const LocalRequest& request) const {
    return is_from_here(request.host, request.origin, request.site, port_) &&
           is_same_token(part_of(request.path, 0), token_);
  }

  LocalReply answer(const LocalRequest& request) {
    const std::string what = part_of(request.path, 1), page = part_of(request.path, 2);
    if (!request.posted) {
      if (request.path == "/" + token_ + "/") return {200, "text/html; charset=utf-8", page_};
      if (request.path == "/" + token_ + "/alive") return {200, "text/plain; charset=utf-8", "yes\n"};
      return not_found();
    }
    const auto type = type_of(what);
    if (!type || request.path != fmt::format("/{}/{}/{}", token_, what, page)) return not_found();
    try {
      const ExploreRequest asked = read_request(request.body);
      const std::string text = desk_.ask(
          page, [&](const auto& given_up) { return worked(what, asked, given_up); }, [] { return std::string(); });
      if (text.empty()) return {409, kJson, "{\"superseded\": true}"};
      return {200, *type, text};
    } catch (const Error& error) {
      return {400, kJson, error_answer(error)};
    } catch (const std::exception& error) {
      return {500, kJson, error_answer(run_error(error.what(), "Please report this as a bug"))};
    }
  }

 private:
  static std::string part_of(const std::string& path, std::size_t number) {
    const std::vector<std::string> parts = split(path, '/');
    return number + 1 < parts.size() ? parts[number + 1] : "";
  }
  static LocalReply not_found() { return {404, "text/plain; charset=utf-8", "there is nothing here\n"}; }

  std::string worked(const std::string& what, const ExploreRequest& request, const std::function<bool()>& given_up) {
    WorkerOptions workers = workers_;
    workers.interrupted = given_up;
    return answered(explorer_, what, request, workers);
  }

  Explorer explorer_;
  std::string page_, token_;
  WorkerOptions workers_;
  std::atomic<int> port_ = 0;
  Desk desk_;
};

// Shows the page in the browser of this desktop, where there is one; whoever sees none has the URL.
void open_browser(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  std::string program = "xdg-open", address = url;
  char* words[] = {program.data(), address.data(), nullptr};
  pid_t started = 0;
  ::posix_spawnp(&started, program.c_str(), nullptr, nullptr, words, environ);  // without one, the address is printed
}

std::string restart_command(const Arguments& given) {
  std::string command = "shardsim explore " + shell_word(given.positional()[0]);
  for (const std::string& word : given_scenario_options(given)) command += " " + shell_word(word);
  return command;
}

int explore(const Arguments& given, const Terminal& terminal) {
  const auto port = given.count("port", kLeastPort, kMostPort);
  Explorer explorer(given.positional()[0], overrides(given));
  note_dropped_edits(given);
  const std::string first = given.has("case") ? explorer.cases()[chosen_name(explorer.cases(), given, "the scenario")]
                                              : explorer.cases().front();
  const std::string token = random_token(), nonce = random_token();
  std::string page = explore_page(explorer, first, restart_command(given), nonce);
  ExploreService service(std::move(explorer), std::move(page), token, 1);
  const auto server = LocalServer::start(
      {static_cast<int>(port.value_or(0)), kMostBody,
       [&](const LocalRequest& request) { return service.admits(request); },
       [&](const LocalRequest& request) { return service.answer(request); },
       fmt::format("default-src 'none'; script-src 'nonce-{}'; style-src 'unsafe-inline'; connect-src 'self'; "
                   "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                   nonce)});
  service.set_port(server->port());
  const std::string url = fmt::format("http://127.0.0.1:{}/{}/", server->port(), token);
  print_lines(url + "\n");
  say("Open this page in a browser of this computer; Ctrl-C ends it.");
  say_when_stopped("explore: ended.\n");
  if (!given.has("no-open")) open_browser(url);
  service.desk().serve(terminal.interrupted);
  return 0;
}

}  // namespace

Command explore_command() {
  return {.name = "shardsim explore",
          .summary = "change a case in a local page and see each change simulated at once",
          .positionals = {{"SCENARIO", "A scenario file."}},
          .options =
              std::vector<Option>{
                  {"case", 0, "NAME",
                   "Begin with this case: its name, or a pattern with * and ? that fits only its name. "
                   "Without this option it is the first one; the page can change it."},
                  {"port", 0, "N", "Listen on this port of 127.0.0.1. Without this option it is any that is free."},
                  {"no-open", 0, "", "Do not open a browser: the address of the page is printed in any case."}} +
              scenario_options(),
          .examples = {"shardsim explore scenarios/flexshard.yaml",
                       "shardsim explore scenarios/toy.yaml --case row_wise --no-open"},
          .run = explore};
}

}  // namespace shardsim
