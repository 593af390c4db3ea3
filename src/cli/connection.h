// A command's connection to a cluster, and the loop that it runs on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/poll_loop.h"
#include "cli/app.h"
#include "cli/cluster_connection.h"
#include "http/curl_transport.h"
#include "http/observed_transport.h"
#include "http/read_only_transport.h"
#include "http/waiting.h"
#include "kube/client.h"

namespace trainstep::cli {

// What a command may do in the cluster: with `read` no request that changes anything leaves this process.
enum class Access { read, write };

struct Connection {
  Connection(ClusterConnection place, Access access)
      : name_space(std::move(place.name_space)),
        pod(std::move(place.pod)),
        description(std::move(place.description)),
        tell(complain),
        waiting(loop, [this](const std::string& text) { tell(text); }),
        curl(loop),
        transport(curl, {&waiting}),
        credentials(std::make_shared<kube::Credentials>(std::move(place.credentials))),
        reading(loop, transport),
        client(loop, access == Access::read ? static_cast<http::Transport&>(reading) : transport, credentials, random_seed()) {
    waiting.name(credentials->server.origin(), "the API server");
  }

  std::string name_space;
  cluster::OwnPod pod;
  std::string description;
  std::function<void(const std::string& text)> tell;  // reports that a server makes us wait; on stderr if not set
  PollLoop loop;
  http::Waiting waiting;
  http::CurlTransport curl;
  http::ObservedTransport transport;
  std::shared_ptr<kube::Credentials> credentials;
  http::ReadOnlyTransport reading;
  kube::Client client;
};

}  // namespace trainstep::cli
