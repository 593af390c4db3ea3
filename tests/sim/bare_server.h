// The simulated API server alone, behind a network without faults: no jobs or pods run there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/api_server.h"
#include "sim/small_client.h"

namespace trainstep::sim {

struct BareServer {
  SimLoop loop;
  Store store{loop, Random(1)};
  Collector collector{store, Random(2)};
  PodLogs logs;
  ApiServer server{store, logs, collector, {}};
  Trace trace{loop, false};
  Network network{loop, server, trace, Random(3), {}};
  SmallClient client{network};
  const Resource& pod = store.serve({"v1", "pods", "Pod"});
  const Resource& job = store.serve({"batch/v1", "jobs", "Job"});
  const Resource& pytorch = store.serve({"kubeflow.org/v1", "pytorchjobs", "PyTorchJob", false});

  // What has come after `timeout`.
  std::shared_ptr<Heard> ask(const std::string& method, const std::string& address, const Json& body = nullptr,
                             std::vector<http::Header> headers = {}, Duration timeout = Duration{1'000}) {
    auto heard = client.ask(method, address, body, std::move(headers));
    const auto last = loop.now() + timeout;
    while (!heard->done && loop.step(last)) {
    }
    return heard;
  }
};

}  // namespace trainstep::sim
