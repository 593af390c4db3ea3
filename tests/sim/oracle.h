// Holds a step against its promises: it never lies, it never leaks, it loses no line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/world.h"

namespace trainstep::sim {

class Oracle {
 public:
  explicit Oracle(const World& world) : m_world(world) {}
  // What the last life's verdict may be.
  [[nodiscard]] std::set<result::VerdictClass> allowed() const;
  void check_verdict(std::vector<std::string>& violations) const;
  void check_lines(std::vector<std::string>& violations) const;
  // Names are reused: a DELETE must identify its object by uid.
  void check_requests(std::vector<std::string>& violations) const;
  // The moment before another job is made: why it may not be; empty: it may.
  [[nodiscard]] std::string why_not_another() const;
  [[nodiscard]] bool waits_without_pods() const;
  // For an attached client: it has only read, and reported correctly.
  void check_visit(std::vector<std::string>& violations) const;
  // Some time after the step's end, with all components healthy.
  void check_leaks(std::vector<std::string>& violations) const;
  // After the Workflow has gone, too.
  void check_empty(std::vector<std::string>& violations) const;

 private:
  [[nodiscard]] std::set<result::VerdictClass> by_script() const;
  [[nodiscard]] bool any_job_succeeded() const;
  [[nodiscard]] bool last_life_found_its_job() const;
  void check_limit(std::vector<std::string>& violations) const;
  void check_first_failure(const result::Verdict& verdict, std::vector<std::string>& violations) const;
  const World& m_world;
};

}  // namespace trainstep::sim
