// SPDX-License-Identifier: Apache-2.0
#include "local/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <random>

#include "base/fd.h"

namespace trainstep::local {
namespace {

// Below Linux's range for ephemeral ports (net.ipv4.ip_local_port_range, from 32768 on): otherwise a connection of the gang could take a port on
// which a member is to listen seconds later.
constexpr int first_port = 20000;
constexpr int last_port = 32767;
constexpr int tries = 100;

// Returns the port if nothing listens on it on any address of this host, otherwise 0; for 0 the kernel chooses one. The socket does not listen.
int bindable(int port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, size) != 0 || ::getsockname(fd.get(), generic, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace

job_types::Address Ports::address(const std::string& type, int index) {
  const auto [known, fresh] = m_ports.emplace(std::pair(type, index), 0);
  if (fresh) known->second = free_port();
  return {"127.0.0.1", known->second};
}

int Ports::free_port() {
  static std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> any(first_port, last_port);
  for (int i = 0; i < tries; ++i) {
    const int port = any(random);
    if (m_given.contains(port) || bindable(port) == 0) continue;
    m_given.insert(port);
    return port;
  }
  return bindable(0);
}

}  // namespace trainstep::local
