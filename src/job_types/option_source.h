// Tells which part of job_options set an option for a replica type: "job_options.KEY" or "job_options.replicas.TYPE.KEY".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job_types/manifest.h"
#include "plan/options.h"

namespace trainstep::job_types {

class OptionSource {
 public:
  // Keeps a reference to `options`.
  OptionSource(const plan::JobOptions& options, const std::string& type);

  [[nodiscard]] std::string of(std::string plan::PodOptions::* member, std::string_view key) const;
  [[nodiscard]] std::string of(Json plan::PodOptions::* member, std::string_view key) const;
  // All members of an object option of `options` (plan::options_for), with their sources.
  [[nodiscard]] std::vector<Manifest::Member> members_of(const plan::PodOptions& options, Json plan::PodOptions::* member,
                                                         std::string_view key) const;
  // For an item of a list option; the items for all replicas come first.
  [[nodiscard]] std::string of_item(Json plan::PodOptions::* member, std::string_view key, std::size_t index) const;
  [[nodiscard]] std::string of_host_network() const;
  [[nodiscard]] std::string of_image() const;

 private:
  [[nodiscard]] std::string name(bool own, std::string_view key) const;

  const plan::PodOptions& m_all;
  const plan::PodOptions* m_own = nullptr;
  std::string m_type;
};

}  // namespace trainstep::job_types
