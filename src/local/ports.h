// The addresses of the replicas of a local gang: loopback, and a free port for each.
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
  // Returns the same port for the same replica until renew(). The port is free but not reserved: the program itself listens on it.
  job_types::Address address(const std::string& type, int index);
  // Use other ports from now on: one that was in use a minute ago may still be in TIME_WAIT.
  void renew() { m_ports.clear(); }

 private:
  int free_port();

  std::map<std::pair<std::string, int>, int> m_ports;
  std::set<int> m_given;
};

}  // namespace trainstep::local
