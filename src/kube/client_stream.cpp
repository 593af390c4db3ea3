// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "kube/client.h"
#include "kube/token_source.h"

namespace trainstep::kube {

http::Transport::Id Client::stream(const Path& path, const http::Query& query, const std::string& accept, Duration silence,
                                   http::Transport::Handler handler) {
  auto sent = request("GET", path, query);
  sent.limit.reset();
  sent.silence = silence;
  for (auto& header : sent.headers)
    if (header.name == "Accept") header.value = accept;
  const bool ready = token_ready(*m_credentials->token, m_loop.now());
  auto token = ready ? m_credentials->token->token(m_loop.now()) : Result<std::string>(Error{ErrorKind::unavailable, "no new token yet"});
  if (!token) {
    constexpr auto own = http::Transport::Id{1} << 63U;  // transports never reach ids this large
    const auto id = own | m_next++;
    m_unsent[id] = m_loop.timer(Duration(0), [this, id, error = std::move(token.error()), done = std::move(handler.done)] {
      m_unsent.erase(id);
      done(error);  // last: may destroy this object
    });
    return id;
  }
  m_token = *token;
  if (!token->empty()) sent.headers.push_back({"Authorization", "Bearer " + *token});
  if (auto own = m_credentials->token->endpoint()) sent.endpoint = std::move(own);
  const auto id = std::make_shared<http::Transport::Id>(0);
  auto done = [this, id, call = std::move(handler.done)](Result<http::Response> response) {
    m_streams.erase(*id);
    if (response && response->status == 401) m_credentials->token->refused();
    call(std::move(response));  // last: may destroy this object
  };
  *id = m_transport.start(std::move(sent), {std::move(handler.head), std::move(handler.data), std::move(done)});
  m_streams.insert(*id);
  return *id;
}

void Client::cancel_stream(http::Transport::Id id) {
  m_unsent.erase(id);
  if (m_streams.erase(id) != 0) m_transport.cancel(id);
}

void Client::hold_stream(http::Transport::Id id, bool held) {
  if (m_streams.contains(id)) m_transport.hold(id, held);
}

}  // namespace trainstep::kube
