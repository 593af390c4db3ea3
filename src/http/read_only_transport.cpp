// SPDX-License-Identifier: Apache-2.0
#include "http/read_only_transport.h"

#include <utility>

namespace trainstep::http {

Transport::Id ReadOnlyTransport::start(Request request, Handler handler) {
  if (request.method == "GET") return m_beneath.start(std::move(request), std::move(handler));
  constexpr auto own = Id{1} << 62U;  // other transports never reach ids this large
  const auto id = own | m_next++;
  m_refused[id] = m_loop.timer(Duration(0), [this, id, done = std::move(handler.done), method = std::move(request.method)] {
    m_refused.erase(id);
    done(internal_error(method + " is not sent: this command is read-only"));  // last: may destroy this object
  });
  return id;
}

void ReadOnlyTransport::cancel(Id id) {
  if (m_refused.erase(id) != 0) return;
  m_beneath.cancel(id);
}

}  // namespace trainstep::http
