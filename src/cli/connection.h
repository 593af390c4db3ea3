// A command's connection to a cluster, and the loop that everything waits on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/poll_loop.h"
#include "cli/cluster_place.h"
#include "http/curl_transport.h"
#include "kube/client.h"

namespace trainstep::cli {

struct Connection {
  explicit Connection(ClusterPlace place)
      : name_space(std::move(place.name_space)),
        pod(std::move(place.pod)),
        description(std::move(place.description)),
        transport(loop),
        credentials(std::make_shared<kube::Credentials>(std::move(place.credentials))),
        client(loop, transport, credentials, random_seed()) {}

  std::string name_space, pod, description;
  PollLoop loop;
  http::CurlTransport transport;
  std::shared_ptr<kube::Credentials> credentials;
  kube::Client client;
};

}  // namespace trainstep::cli
