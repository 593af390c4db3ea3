// Follows a job of another step to its end, without writing anything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/session.h"
#include "http/read_only_transport.h"

namespace trainstep::cluster {

struct Place {
  std::string name_space;
  std::string where;  // "in-cluster", "context x": for the log
  std::uint64_t seed = 0;
};

// Without limits: ends with the job, or when nothing more of it can be seen. Reports what it may not read. Its session uses a read-only transport.
class Attachment {
 public:
  // References must outlive it. `plan`: plan_of(job).
  Attachment(Loop& loop, http::Transport& transport, std::shared_ptr<kube::Credentials> credentials, Place place, const plan::Plan& plan,
             Submitted job, std::vector<run::Listener*> listeners);
  void hold_output(Pressure pressure) { m_session.hold_output(pressure); }
  void begin(std::function<void(Session::Done)> done) { m_session.begin(std::move(done)); }

 private:
  http::ReadOnlyTransport m_transport;
  Session m_session;
};

}  // namespace trainstep::cluster
