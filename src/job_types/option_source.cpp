// SPDX-License-Identifier: Apache-2.0
#include "job_types/option_source.h"

#include <fmt/format.h>

#include <set>

#include "job_types/object.h"

namespace trainstep::job_types {

using plan::PodOptions;

OptionSource::OptionSource(const plan::JobOptions& options, const std::string& type) : m_all(options.all), m_type(type) {
  if (const auto found = options.replicas.find(type); found != options.replicas.end()) m_own = &found->second;
}

std::string OptionSource::name(bool own, std::string_view key) const {
  return own ? fmt::format("job_options.replicas.{}.{}", m_type, key) : fmt::format("job_options.{}", key);
}

std::string OptionSource::of(std::string PodOptions::* member, std::string_view key) const {
  return name(m_own != nullptr && !(m_own->*member).empty(), key);
}

std::string OptionSource::of(Json PodOptions::* member, std::string_view key) const {
  return name(m_own != nullptr && !(m_own->*member).empty(), key);
}

std::vector<Manifest::Member> OptionSource::members_of(const PodOptions& options, Json PodOptions::* member, std::string_view key) const {
  std::set<std::string> own;
  if (m_own != nullptr)
    for (const auto& [of, value] : (m_own->*member).items()) own.insert(of);
  std::vector<Manifest::Member> members;
  for (const auto& [of, value] : (options.*member).items()) members.push_back({of, scalar_text(value), name(own.contains(of), key)});
  return members;
}

std::string OptionSource::of_item(Json PodOptions::* member, std::string_view key, std::size_t index) const {
  const auto shared = (m_all.*member).size();
  return index < shared ? fmt::format("{}[{}]", name(false, key), index) : fmt::format("{}[{}]", name(true, key), index - shared);
}

std::string OptionSource::of_host_network() const { return name(m_own != nullptr && m_own->host_network.has_value(), "host_network"); }

std::string OptionSource::of_image() const { return name(true, "image"); }

}  // namespace trainstep::job_types
