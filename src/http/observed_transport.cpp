// SPDX-License-Identifier: Apache-2.0
#include "http/observed_transport.h"

#include <utility>

namespace trainstep::http {
namespace {

constexpr std::size_t large = std::size_t{64} << 10U;

}  // namespace

Transport::Id ObservedTransport::start(Request request, Handler handler) {
  const auto open = std::make_shared<Open>();
  open->seen = {request.method, request.url.origin(), request.url.path, !handler.sink && request.body.size() < large,
                static_cast<bool>(handler.data)};
  for (auto* observer : m_observers) observer->began(open->seen);
  // An exchange without `head` and `data` may run on another thread: adding `head` would prevent that.
  if (handler.data || handler.head)
    handler.head = [this, open, head = std::move(handler.head)](const Response& response) {
      for (auto* observer : m_observers) observer->answered(open->seen, response.status, open->took(), false);
      open->seen.awaited = false;
      if (head) head(response);
    };
  handler.done = [this, open, call = std::move(handler.done)](Result<Response> response) {
    done(*open, response);
    if (call) call(std::move(response));  // last: may destroy this object
  };
  open->id = m_inner.start(std::move(request), std::move(handler));
  m_open.emplace(open->id, open);
  return open->id;
}

void ObservedTransport::done(Open& open, const Result<Response>& response) {
  m_open.erase(open.id);
  for (auto* observer : m_observers)
    response ? observer->answered(open.seen, response->status, open.took(), true) : observer->failed(open.seen, response.error(), open.took());
}

void ObservedTransport::cancel(Id id) {
  if (const auto found = m_open.extract(id); !found.empty())
    for (auto* observer : m_observers) observer->cancelled(found.mapped()->seen, found.mapped()->took());
  m_inner.cancel(id);
}

}  // namespace trainstep::http
