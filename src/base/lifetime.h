// Callbacks that may be called after their owner is gone, because whoever calls them cannot be told to forget them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

namespace trainstep {

// A member of the owner. Where a call can be cancelled, a handle is better (base/pending.h).
class Lifetime {
 public:
  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // `call`, for as long as this object exists; after that it does nothing.
  template <typename Call>
  [[nodiscard]] auto bind(Call call) const {
    return [alive = std::weak_ptr(m_token), call = std::move(call)](auto&&... arguments) mutable {
      if (!alive.expired()) call(std::forward<decltype(arguments)>(arguments)...);
    };
  }

 private:
  std::shared_ptr<char> m_token = std::make_shared<char>();
};

}  // namespace trainstep
