// What is in progress and can be cancelled: a timer of a loop, a call of a client.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <utility>

namespace trainstep {

// Owns one timer or call of `Owner`, and cancels it when destroyed or assigned to: its callback is not called after that. Cancelling what has
// completed does nothing. The owner must outlive the handle.
template <typename Owner>
class [[nodiscard]] Pending {
 public:
  Pending() = default;
  Pending(Owner& owner, std::uint64_t id) : m_owner(&owner), m_id(id) {}
  Pending(Pending&& other) noexcept : m_owner(std::exchange(other.m_owner, nullptr)), m_id(other.m_id) {}
  Pending& operator=(Pending&& other) noexcept {
    if (this == &other) return *this;
    cancel();
    m_owner = std::exchange(other.m_owner, nullptr);
    m_id = other.m_id;
    return *this;
  }
  ~Pending() { cancel(); }

  void cancel() {
    if (auto* owner = std::exchange(m_owner, nullptr)) owner->cancel(m_id);
  }
  // It goes on without the handle.
  void detach() { m_owner = nullptr; }
  // Whether it was started and neither cancelled nor detached; it may have completed.
  explicit operator bool() const { return m_owner != nullptr; }

 private:
  Owner* m_owner = nullptr;
  std::uint64_t m_id = 0;
};

// Any number of calls in progress. Those that complete are forgotten; the others are cancelled when it is destroyed or cleared.
template <typename Owner>
class PendingSet {
 public:
  // `begin` starts a call with the callback that it is given; `done` gets the call's answer, and may destroy the set.
  template <typename Answer, typename Begin>
  void add(const Begin& begin, std::function<void(Answer)> done) {
    const auto call = m_calls.emplace(m_calls.end());
    *call = begin([this, call, done = std::move(done)](Answer answer) {
      m_calls.erase(call);
      done(std::move(answer));
    });
  }
  // For a call whose callback is not wrapped: it is kept until the end.
  void keep(Pending<Owner> call) { m_calls.push_back(std::move(call)); }
  void clear() { m_calls.clear(); }

 private:
  std::list<Pending<Owner>> m_calls;
};

}  // namespace trainstep
