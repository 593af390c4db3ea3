// SPDX-License-Identifier: Apache-2.0
#include "agent/role.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace trainstep::agent {
namespace {

constexpr std::array<std::pair<std::string_view, Role>, 5> roles{
    {{"primary", Role::primary}, {"replica", Role::replica}, {"indexed", Role::indexed}, {"rank", Role::rank}, {"launcher", Role::launcher}}};

constexpr std::string_view job_index = "JOB_COMPLETION_INDEX";

std::string_view value_of(const process::Variables& environment, std::string_view name) {
  const auto* value = process::find_variable(environment, name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

// Open MPI; MPICH and Intel MPI; PMIx (Open MPI 5, Slurm).
std::string_view rank_in(const process::Variables& environment) {
  for (const auto* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const auto rank = value_of(environment, name); !rank.empty()) return rank;
  return {};
}

// "train-worker-0" → "0"
std::string_view number_behind(std::string_view host) {
  const auto dash = host.rfind('-');
  return dash == std::string_view::npos ? std::string_view() : host.substr(dash + 1);
}

}  // namespace

Result<Role> role_of(std::string_view word) {
  const auto* const found = std::ranges::find(roles, word, &std::pair<std::string_view, Role>::first);
  if (found == roles.end())
    return usage_error(fmt::format("--role: unknown value \"{}\"; expected primary, replica, indexed, rank or launcher", word));
  return found->second;
}

// Among pods with this role, only those of an Indexed Job have the variable.
std::string index_of(Role role, const process::Variables& environment) {
  return std::string(role == Role::indexed ? value_of(environment, job_index) : std::string_view());
}

bool is_primary(Role role, const process::Variables& environment) {
  if (role == Role::rank) return rank_in(environment) == "0";  // with an unknown rank it delivers nothing, and the launcher reports that
  if (role != Role::indexed) return role == Role::primary;
  const auto index = value_of(environment, job_index);
  return (index.empty() ? number_behind(value_of(environment, "HOSTNAME")) : index) == "0";
}

bool watches_lease(Role role, bool primary, const std::string& index) { return role != Role::rank && (primary || !index.empty()); }

}  // namespace trainstep::agent
