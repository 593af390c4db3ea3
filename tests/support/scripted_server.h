// A server on 127.0.0.1 that does exactly what a test says, byte by byte, on the test's own loop.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/poll_loop.h"
#include "support/catch.h"
#include "support/certificates.h"

namespace trainstep::test {

class Connection {
 public:
  using Requested = std::function<void(Connection& connection, const std::string& request)>;
  Connection(PollLoop& loop, Fd socket, SSL_CTX* tls, Requested requested)
      : m_loop(loop), m_socket(std::move(socket)), m_ssl(tls == nullptr ? nullptr : SSL_new(tls), SSL_free), m_requested(std::move(requested)) {
    ::fcntl(m_socket.get(), F_SETFL, O_NONBLOCK);
    if (m_ssl) {
      SSL_set_fd(m_ssl.get(), m_socket.get());
      SSL_set_accept_state(m_ssl.get());
    }
    watch();
  }
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view bytes) {
    m_out += bytes;
    pump();
  }
  // After what was sent. A reset loses what the other side has not read.
  void close() {
    if (!m_socket) return;
    m_loop.forget(m_socket.get());
    if (m_ssl && m_out.empty()) SSL_shutdown(m_ssl.get());
    m_ssl.reset();
    m_socket.close();
  }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(m_socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    m_loop.forget(m_socket.get());
    m_ssl.reset();
    m_socket.close();
  }
  // Reads and answers as far as it goes now, without the loop.
  void pump() {
    if (!m_socket) return;
    write_some();
    read_some();
    for (auto end = request_end(); m_socket && end != std::string::npos; end = request_end()) {
      const auto request = m_in.substr(0, end);
      m_in.erase(0, end);
      requests.push_back(request);
      if (m_requested) m_requested(*this, request);
    }
    if (m_socket) watch();
  }
  [[nodiscard]] std::string server_name() const { return m_server_name; }
  [[nodiscard]] std::string peer_name() const { return m_peer_name; }
  [[nodiscard]] const std::string& raw() const { return m_in; }

  std::vector<std::string> requests;
  bool ended = false;  // by the client

 private:
  void watch() {
    m_loop.watch(m_socket.get(), {.readable = !ended, .writable = !m_out.empty() && !handshaking()}, [this](PollLoop::Ready) { pump(); });
    if (ended && m_out.empty()) m_loop.forget(m_socket.get());
  }
  [[nodiscard]] bool handshaking() const { return m_ssl && SSL_is_init_finished(m_ssl.get()) == 0; }
  void write_some() {
    while (!m_out.empty()) {
      const auto count = m_ssl ? SSL_write(m_ssl.get(), m_out.data(), static_cast<int>(std::min<std::size_t>(m_out.size(), 16'384)))
                               : static_cast<int>(::send(m_socket.get(), m_out.data(), std::min<std::size_t>(m_out.size(), 65'536), MSG_NOSIGNAL));
      if (count <= 0) return;
      m_out.erase(0, static_cast<std::size_t>(count));
    }
  }
  void read_some() {
    std::array<char, 65'536> buffer{};
    while (!ended) {
      const auto count = m_ssl ? SSL_read(m_ssl.get(), buffer.data(), static_cast<int>(buffer.size()))
                               : static_cast<int>(::recv(m_socket.get(), buffer.data(), buffer.size(), 0));
      if (count > 0) {
        m_in.append(buffer.data(), static_cast<std::size_t>(count));
      } else {
        ended = m_ssl ? SSL_get_error(m_ssl.get(), count) != SSL_ERROR_WANT_READ : count == 0 || errno != EAGAIN;
        note_names();
        return;
      }
    }
  }
  void note_names() {
    if (!m_ssl || handshaking()) return;
    const char* name = SSL_get_servername(m_ssl.get(), TLSEXT_NAMETYPE_host_name);
    m_server_name = name == nullptr ? "" : name;
    const std::unique_ptr<X509, decltype(&X509_free)> peer(SSL_get1_peer_certificate(m_ssl.get()), X509_free);
    std::array<char, 256> text{};
    if (peer) X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, text.data(), text.size());
    m_peer_name = text.data();
  }
  // Behind the first whole request.
  [[nodiscard]] std::size_t request_end() const {
    const auto head = m_in.find("\r\n\r\n");
    if (head == std::string::npos) return head;
    const auto length = m_in.find("Content-Length: ");
    const auto end = head + 4 + (length < head ? std::stoul(m_in.substr(length + 16)) : 0);
    return end <= m_in.size() ? end : std::string::npos;
  }

  PollLoop& m_loop;
  Fd m_socket;
  std::unique_ptr<SSL, decltype(&SSL_free)> m_ssl;
  Requested m_requested;
  std::string m_in;
  std::string m_out;
  std::string m_server_name;
  std::string m_peer_name;
};

class ScriptedServer {
 public:
  struct Tls {
    Identity identity;
    std::string client_authority_pem;  // empty: no client certificate is asked for
  };
  // `requested`: for each whole request; it answers by Connection::send.
  ScriptedServer(PollLoop& loop, Connection::Requested requested, const Tls* tls = nullptr)
      : m_loop(loop), m_requested(std::move(requested)), m_listener(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (tls != nullptr) use(*tls);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(m_listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(m_listener.get(), 64) == 0);
    REQUIRE(::getsockname(m_listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    m_port = ntohs(address.sin_port);
    m_loop.on_readable(m_listener.get(), [this] { accept(); });
  }
  ~ScriptedServer() { stop(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // Closes the listening socket and all connections.
  void stop() {
    connections.clear();
    if (m_listener) m_loop.forget(m_listener.get());
    m_listener.close();
  }
  [[nodiscard]] int port() const { return m_port; }
  [[nodiscard]] std::string place() const { return "127.0.0.1:" + std::to_string(m_port); }
  [[nodiscard]] std::string origin() const { return (m_tls ? "https://" : "http://") + place(); }

  std::vector<std::unique_ptr<Connection>> connections;  // in the order they came

 private:
  void accept() {
    Fd socket(::accept(m_listener.get(), nullptr, nullptr));
    if (socket) connections.push_back(std::make_unique<Connection>(m_loop, std::move(socket), m_tls.get(), m_requested));
  }
  void use(const Tls& tls) {
    m_tls.reset(SSL_CTX_new(TLS_server_method()));
    const Memory certificate(BIO_new_mem_buf(tls.identity.certificate_pem.data(), -1), BIO_free_all);
    const Memory key(BIO_new_mem_buf(tls.identity.key_pem.data(), -1), BIO_free_all);
    const std::unique_ptr<X509, decltype(&X509_free)> x509(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr), X509_free);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pkey(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    REQUIRE(SSL_CTX_use_certificate(m_tls.get(), x509.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(m_tls.get(), pkey.get()) == 1);
    if (tls.client_authority_pem.empty()) return;
    const Memory authority(BIO_new_mem_buf(tls.client_authority_pem.data(), -1), BIO_free_all);
    const std::unique_ptr<X509, decltype(&X509_free)> trusted(PEM_read_bio_X509(authority.get(), nullptr, nullptr, nullptr), X509_free);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(m_tls.get()), trusted.get());
    SSL_CTX_set_verify(m_tls.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  using Memory = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

  PollLoop& m_loop;
  Connection::Requested m_requested;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> m_tls{nullptr, SSL_CTX_free};
  Fd m_listener;
  int m_port = 0;
};

}  // namespace trainstep::test
