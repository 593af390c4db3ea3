// SPDX-License-Identifier: Apache-2.0
#include "result/traceback.h"

#include "base/text.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

std::optional<Traceback> in(std::string_view text) { return find_traceback(lines_of(text)); }

}  // namespace

TEST_CASE("the last traceback of a log is found with its error") {
  const auto found = in(R"(epoch=1
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    first()
KeyError: 'x'
retrying
Traceback (most recent call last):
  File "a.py", line 9, in <module>
    train()
    ~~~~~^^
  File "a.py", line 5, in train
    raise ValueError("no")
ValueError: no
bye)");
  REQUIRE(found);
  CHECK(found->error == "ValueError: no");
  CHECK(found->lines.size() == 7);
  CHECK(found->lines.front() == "Traceback (most recent call last):");
  CHECK(found->lines.back() == "ValueError: no");
}

TEST_CASE("chained exceptions are one block, and the last error is used") {
  const auto found = in(R"(Traceback (most recent call last):
  File "a.py", line 2, in f
    {}['x']
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 4, in f
    raise RuntimeError("y")
RuntimeError: y

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 6, in <module>
    g()
OSError: z)");
  REQUIRE(found);
  CHECK(found->error == "OSError: z");
  CHECK(found->lines.front() == "Traceback (most recent call last):");
  CHECK(std::count(found->lines.begin(), found->lines.end(), "KeyError: 'x'") == 1);
  CHECK(found->lines.size() == 14);
}

TEST_CASE("the prefixes of ranks are removed and their lines separated") {
  const auto found = in(R"([rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "a.py", line 1, in <module>
[rank0]:   File "a.py", line 2, in <module>
[rank1]:     f()
[rank0]:     g()
[rank1]: ValueError: one
[rank0]: ValueError: zero)");
  REQUIRE(found);
  CHECK(join(found->lines, "\n") == "Traceback (most recent call last):\n  File \"a.py\", line 2, in <module>\n    g()\nValueError: zero");
  const auto mpi = in("[1,1]<stderr>:Traceback (most recent call last):\n[1,1]<stderr>:  File \"a.py\", line 1, in f\n[1,1]<stderr>:ValueError: x");
  REQUIRE(mpi);
  CHECK(mpi->error == "ValueError: x");
}

TEST_CASE("a syntax error and a block without its head are found") {
  const auto found = in("  File \"/x/a.py\", line 3\n    foo(\n       ^\nSyntaxError: '(' was never closed");
  REQUIRE(found);
  CHECK(found->error == "SyntaxError: '(' was never closed");
  CHECK(found->lines.size() == 4);
  const auto cut = in("    loss.backward()\n  File \"/x/b.py\", line 3, in g\n    h()\nKeyboardInterrupt");
  REQUIRE(cut);
  CHECK(cut->error == "KeyboardInterrupt");
}

TEST_CASE("the indented lines of a long message belong to it") {
  const auto found =
      in("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: Error(s) in loading state_dict for Net:\n\tMissing "
         "key(s): x\nbye\n\tnot this");
  REQUIRE(found);
  CHECK(found->error == "RuntimeError: Error(s) in loading state_dict for Net:");
  CHECK(found->lines.back() == "\tMissing key(s): x");
}

TEST_CASE("torchrun's own traceback does not hide the rank's") {
  const auto found = in(R"([rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 1, in <module>
[rank0]: ValueError: bad shape
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================)");
  REQUIRE(found);
  CHECK(found->error == "ValueError: bad shape");
}

TEST_CASE("a log without a finished traceback has none") {
  CHECK_FALSE(in(""));
  CHECK_FALSE(in("all is well\nValueError: not from a traceback"));
  CHECK_FALSE(in("Traceback (most recent call last):\n  File \"a.py\", line 1, in f"));
}
