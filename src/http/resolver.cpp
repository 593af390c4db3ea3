// SPDX-License-Identifier: Apache-2.0
#include "http/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace trainstep::http {
namespace {

constexpr std::chrono::minutes fresh{1};
constexpr int server_timeout_ms = 2'000;  // then the next server, or the same one again
constexpr int tries = 3;

std::string text_of(const ares_addrinfo_node& node) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address = node.ai_family == AF_INET6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(node.ai_addr)->sin6_addr)
                                                   : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(node.ai_addr)->sin_addr);
  return ::inet_ntop(node.ai_family, address, text.data(), text.size()) == nullptr ? "" : text.data();
}

}  // namespace

// One query with its own channel: the machine's resolver configuration is read each time, and nothing is kept between queries.
struct Resolver::Lookup : std::enable_shared_from_this<Lookup> {
  Lookup(PollLoop& loop, std::string name, std::function<void(const Result<Addresses>&)> told)
      : m_loop(loop), m_name(std::move(name)), m_done(std::move(told)) {}
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;
  ~Lookup() {
    m_done = nullptr;
    if (m_channel != nullptr) ares_destroy(m_channel);  // calls back to remove its descriptors, and on_answer() with ARES_EDESTRUCTION
  }

  void start(const std::string& servers) {
    ares_options options{};
    options.timeout = server_timeout_ms;
    options.tries = tries;
    options.sock_state_cb = &on_state;
    options.sock_state_cb_data = this;
    const int problem = ares_init_options(&m_channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (problem != ARES_SUCCESS || (!servers.empty() && ares_set_servers_ports_csv(m_channel, servers.c_str()) != ARES_SUCCESS))
      return tell(Error{ErrorKind::unavailable, ares_strerror(problem)});
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    ares_getaddrinfo(m_channel, m_name.c_str(), nullptr, &hints, &on_answer, this);
    set_timer();
  }

 private:
  void process(ares_socket_t readable, ares_socket_t writable) {
    const auto self = shared_from_this();
    ares_process_fd(m_channel, readable, writable);
    set_timer();
  }
  void set_timer() {
    m_timer.cancel();
    timeval left{};
    if (ares_timeout(m_channel, nullptr, &left) == nullptr) return;
    m_timer = m_loop.timer(Duration(left.tv_sec * 1000 + left.tv_usec / 1000 + 1), [this] { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); });
  }
  // Calls back from the loop, because the channel must not be destroyed from within c-ares.
  void tell(Result<Addresses> addresses) {
    m_loop.post([weak = weak_from_this(), found = std::move(addresses)] {
      if (const auto self = weak.lock(); self && self->m_done) self->m_done(found);
    });
  }

  static void on_state(void* userdata, ares_socket_t socket, int readable, int writable) {
    auto& lookup = *static_cast<Lookup*>(userdata);
    if (readable == 0 && writable == 0) return lookup.m_loop.forget(socket);
    lookup.m_loop.watch(socket, {.readable = readable != 0, .writable = writable != 0}, [&lookup, socket](PollLoop::Ready ready) {
      lookup.process(ready.readable ? socket : ARES_SOCKET_BAD, ready.writable ? socket : ARES_SOCKET_BAD);
    });
  }
  static void on_answer(void* userdata, int status, int /*timeouts*/, ares_addrinfo* info) {
    auto& lookup = *static_cast<Lookup*>(userdata);
    Addresses addresses;
    for (auto* node = info == nullptr ? nullptr : info->nodes; node != nullptr; node = node->ai_next) addresses.push_back(text_of(*node));
    if (info != nullptr) ares_freeaddrinfo(info);
    if (status == ARES_EDESTRUCTION) return;
    if (status == ARES_SUCCESS && !addresses.empty()) return lookup.tell(std::move(addresses));
    lookup.tell(Error{ErrorKind::unavailable, status == ARES_SUCCESS ? "no address found" : ares_strerror(status)});
  }

  PollLoop& m_loop;
  std::string m_name;
  std::function<void(const Result<Addresses>&)> m_done;
  ares_channel m_channel = nullptr;
  Timer m_timer;
};

Resolver::Resolver(PollLoop& loop, std::string servers) : m_loop(loop), m_servers(std::move(servers)) {}

Resolver::~Resolver() = default;

std::optional<Resolver::Addresses> Resolver::known(const std::string& name) {
  const auto found = m_known.find(name);
  if (found == m_known.end()) return std::nullopt;
  if (std::chrono::steady_clock::now() - found->second.since > fresh) begin(name);
  return found->second.addresses;
}

void Resolver::resolve(const std::string& name, Found found) {
  m_waiting[name].push_back(std::move(found));
  begin(name);
}

void Resolver::begin(const std::string& name) {
  if (m_lookups.contains(name)) return;
  const auto lookup = std::make_shared<Lookup>(m_loop, name, [this, name](const Result<Addresses>& addresses) { ended(name, addresses); });
  m_lookups.emplace(name, lookup);
  lookup->start(m_servers);
}

void Resolver::ended(const std::string& name, const Result<Addresses>& addresses) {
  const auto lookup = m_lookups.extract(name);  // destroyed at the end of this function, which it has called
  if (addresses) m_known[name] = {*addresses, std::chrono::steady_clock::now()};
  const auto waiting = m_waiting.extract(name);
  if (waiting.empty()) return;
  for (const auto& found : waiting.mapped()) found(addresses);  // may destroy this object
}

}  // namespace trainstep::http
