// The only file that includes cpp-httplib.
#include <httplib.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "cli/serve/local_server.h"

namespace {

using shardsim::LocalReply;
using shardsim::LocalRequest;
using shardsim::LocalService;

constexpr std::size_t kThreads = 16;     // connections at a time: browsers keep some open that ask for nothing
constexpr std::time_t kIdleSeconds = 2;  // after which such a connection is closed
constexpr std::time_t kSlowSeconds = 10;
constexpr std::size_t kRequestsOfConnection = 1000;

LocalRequest local(const httplib::Request& request) {
  LocalRequest result{request.method == "POST",
                      request.path,
                      request.get_header_value("Host"),
                      request.get_header_value("Origin"),
                      request.get_header_value("Sec-Fetch-Site"),
                      request.body};
  // Two of them would leave open which one holds.
  if (request.get_header_value_count("Host") != 1) result.host.clear();
  if (request.get_header_value_count("Origin") > 1) result.origin = "several";
  return result;
}

void set(httplib::Response& response, const LocalReply& reply) {
  response.status = reply.status;
  response.set_content(reply.body, reply.type);
}

class HttpServer : public shardsim::LocalServer {
 public:
  explicit HttpServer(LocalService service) : service_(std::move(service)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_payload_max_length(service_.most_body);
    server_.set_keep_alive_timeout(kIdleSeconds);
    server_.set_keep_alive_max_count(kRequestsOfConnection);
    server_.set_read_timeout(kSlowSeconds);
    server_.set_write_timeout(kSlowSeconds);
    server_.set_tcp_nodelay(true);
    server_.set_socket_options([this](socket_t socket) {
      socket_ = socket;
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_default_headers({{"Content-Security-Policy", service_.policy},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"X-Frame-Options", "DENY"},
                                 {"Referrer-Policy", "no-referrer"},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"Cache-Control", "no-store"}});
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const bool known = request.method == "GET" || request.method == "HEAD" || request.method == "POST";
      if (known && service_.admits(local(request))) return httplib::Server::HandlerResponse::Unhandled;
      set(response, known ? LocalReply{403, "text/plain; charset=utf-8", "not for you\n"}
                          : LocalReply{405, "text/plain; charset=utf-8", "GET and POST alone\n"});
      return httplib::Server::HandlerResponse::Handled;
    });
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      set(response, service_.answer(local(request)));
    };
    server_.Get("[^]*", answer);
    server_.Post("[^]*", answer);
  }

  ~HttpServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  bool listen() {
    constexpr const char* kHere = "127.0.0.1";
    if (service_.port == 0) {
      port_ = server_.bind_to_any_port(kHere);
    } else {
      port_ = server_.bind_to_port(kHere, service_.port) ? service_.port : -1;
    }
    if (port_ <= 0) return false;
    ::listen(socket_, SOMAXCONN);  // cpp-httplib lets five wait, and more that come at once would be turned away
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return true;
  }

  int port() const override { return port_; }

 private:
  LocalService service_;
  httplib::Server server_;
  socket_t socket_ = -1;  // that it listens on
  int port_ = -1;
  std::thread thread_;
};

}  // namespace

extern "C" shardsim::LocalServer* shardsim_start_server(LocalService* service, std::string* why) {
  auto server = std::make_unique<HttpServer>(std::move(*service));
  errno = 0;
  if (server->listen()) return server.release();
  *why = errno == 0 ? "it is taken" : std::strerror(errno);
  return nullptr;
}
