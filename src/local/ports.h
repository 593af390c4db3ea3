// Where the replicas of a local gang find each other: loopback, and a free port for each of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "job_types/job_type.h"

namespace trainstep::local {

class Ports {
 public:
  // The same replica gets the same port until renew(). The port is free, not taken: the program itself listens there.
  job_types::Address address(const std::string& type, int index);
  // Other ports from now on: one that was used a minute ago may still be waiting for its last packets.
  void renew() { m_ports.clear(); }

 private:
  int free_port();

  std::map<std::pair<std::string, int>, int> m_ports;
  std::set<int> m_given;
};

}  // namespace trainstep::local
