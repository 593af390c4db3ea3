// SPDX-License-Identifier: Apache-2.0
#include "base/mailbox.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <vector>

#include "support/catch.h"

using namespace trainstep;

TEST_CASE("tasks from other threads are run by the loop, those of one thread in their order") {
  PollLoop loop;
  Mailbox mailbox(loop);
  mailbox.open();
  std::vector<int> ran;
  int left = 200;
  const auto put = [&](int first) {
    for (int i = first; i < first + 100; ++i)
      mailbox.put([&, i] {
        ran.push_back(i);
        if (--left == 0) loop.stop();
      });
  };
  std::thread one([&] { put(0); });
  std::thread other([&] { put(1'000); });
  loop.run();
  one.join();
  other.join();
  REQUIRE(ran.size() == 200);
  std::vector<int> small, large;
  for (const int i : ran) (i < 1'000 ? small : large).push_back(i);
  CHECK(std::is_sorted(small.begin(), small.end()));
  CHECK(std::is_sorted(large.begin(), large.end()));
}

TEST_CASE("a mailbox keeps the loop running only while it is open") {
  PollLoop loop;
  Mailbox mailbox(loop);
  int ran = 0;
  mailbox.put([&] { ++ran; });
  loop.run();
  CHECK(ran == 0);
  mailbox.open();
  mailbox.put([&] { mailbox.close(); });
  loop.run();
  CHECK(ran == 1);
}

TEST_CASE("a task may destroy its mailbox") {
  PollLoop loop;
  auto mailbox = std::make_unique<Mailbox>(loop);
  mailbox->open();
  mailbox->put([&] { mailbox.reset(); });
  loop.run();
  CHECK_FALSE(mailbox);
}

TEST_CASE("no signal comes to a thread without signals, and the starter's are as before") {
  sigset_t there;
  sigset_t here;
  thread_without_signals([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &there); }).join();
  ::pthread_sigmask(SIG_SETMASK, nullptr, &here);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) {
    CHECK(sigismember(&there, signal) == 1);
    CHECK(sigismember(&here, signal) == 0);
  }
}
