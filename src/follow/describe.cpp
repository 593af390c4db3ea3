// SPDX-License-Identifier: Apache-2.0
#include "follow/describe.h"

#include <fmt/format.h>

#include <variant>

#include "base/redact.h"
#include "base/text.h"
#include "follow/record.h"

namespace trainstep::follow {
namespace {

constexpr std::size_t max_event_length = 600;

// Each action in words; actions that only show something have none.
struct DescribeAction {
  const Rules& rules;
  [[nodiscard]] const std::string& name(MemberIndex member) const { return rules.members.at(member).name; }

  std::string operator()(const StartMember& order) const { return fmt::format("start {}, attempt {}", name(order.member), order.attempt); }
  std::string operator()(const StopMember& order) const { return fmt::format("stop {} within {}", name(order.member), describe(order.grace)); }
  std::string operator()(const SetTimer& order) const { return fmt::format("timer {} in {}", order.timer, describe(order.delay)); }
  std::string operator()(const FollowLog& order) const {
    return fmt::format("follow the {}log of {} (pod {}, container {})", order.previous ? "previous " : "", name(order.member), order.pod,
                       order.container);
  }
  std::string operator()(const EndLog& order) const {
    return fmt::format("read the log of {} to its end{}", name(order.member),
                       order.gone        ? " (its pod is gone)"
                       : order.restarted ? " (it was restarted)"
                                         : "");
  }
  std::string operator()(const Refresh&) const { return "list the job and its pods"; }
  std::string operator()(const WatchPodEvents&) const { return "watch the events of its pods"; }
  std::string operator()(const RemoveJob& order) const { return order.at_once ? "delete the job at once" : "delete the job"; }
  std::string operator()(const KeepJob&) const { return "leave the job to the next attempt"; }
  std::string operator()(const Finish& order) const { return "finish: " + result::describe(order.verdict); }
  std::string operator()(const LogMessage&) const { return {}; }
  std::string operator()(const ShowOutput&) const { return {}; }
  std::string operator()(const ShowProgress&) const { return {}; }
};

std::string reason(const Event& event) {
  auto record = record_of(event);
  const auto name = record.value("event", "");
  record.erase("event");
  record.erase("at");
  auto text = record.empty() ? std::string() : " " + redacted(to_text(record), {});
  if (text.size() > max_event_length) text.replace(max_event_length, std::string::npos, " …");
  return name + text;
}

}  // namespace

std::string describe_decision(const Event& event, const std::vector<Action>& actions, const Rules& rules) {
  std::vector<std::string> orders;
  for (const auto& action : actions)
    if (auto words = std::visit(DescribeAction{rules}, action); !words.empty()) orders.push_back(std::move(words));
  return orders.empty() ? std::string() : fmt::format("{}: {}", reason(event), join(orders, "; "));
}

std::string describe_limit(Duration limit) {
  constexpr Duration tenth{100};
  return limit < tenth ? fmt::format("{} ms", limit.count()) : describe(limit);
}

}  // namespace trainstep::follow
