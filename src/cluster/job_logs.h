// The logs of a job's pods.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "follow/event.h"
#include "kube/client.h"
#include "kube/log_stream.h"

namespace trainstep::cluster {

class JobLogs {
 public:
  // Called from the loop.
  struct Sink {
    std::function<void(follow::MemberOutput output)> lines;
    std::function<void(std::string text)> log;  // what is lost or waited for
    std::function<void()> ended;                // a log, and with it perhaps the job
    std::function<void(follow::LogComplete complete)> complete;
  };

  // The client must outlive it.
  JobLogs(kube::Client& client, std::string name_space, Sink sink) : m_client(client), m_name_space(std::move(name_space)), m_sink(std::move(sink)) {}

  void follow(const follow::FollowLog& order);
  void end(const follow::EndLog& order);
  // Stops reading, or goes on. The pods continue to write: their lines wait in the files of the kubelet.
  void hold(bool held);
  void clear() { m_logs.clear(); }

 private:
  kube::Client& m_client;
  std::string m_name_space;
  Sink m_sink;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<kube::ContainerLogs>> m_siblings;  // by pod name and container
  std::map<std::pair<follow::MemberIndex, std::string>, std::unique_ptr<kube::LogStream>> m_logs;
  bool m_held = false;
};

}  // namespace trainstep::cluster
