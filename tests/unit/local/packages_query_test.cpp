// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "local/packages.h"
#include "process/child.h"
#include "support/catch.h"

namespace trainstep::local {
namespace {

// What the query calls missing, with packages `installed` ("name==version") and nothing else. `bare`: in an interpreter without packaging and pip.
std::string missing(const std::string& requirement, bool bare) {
  const std::string world = R"(
import sys
from importlib import metadata
versions = {"numpy": "1.26.4", "typing-extensions": "4.12.2", "kfp": "2.17.0", "pre": "2.0rc1"}
needs = {"kfp": ['kubernetes>=8; extra == "kubernetes"', 'numpy>=1; extra == "all"', "protobuf"]}
def version(name):
    if name not in versions:
        raise metadata.PackageNotFoundError(name)
    return versions[name]
metadata.version, metadata.requires = version, lambda name: needs.get(name)
if sys.argv.pop(1) == "bare":
    for module in ("packaging", "packaging.requirements", "pip", "pip._vendor", "pip._vendor.packaging", "pip._vendor.packaging.requirements"):
        sys.modules[module] = None
exec(sys.argv.pop(1))
)";
  auto child = process::spawn({{"/usr/bin/python3", "-c", world, bare ? "bare" : "full", std::string(missing_packages_program), requirement},
                               {{"PATH", "/usr/bin:/bin"}},
                               "/"});
  REQUIRE(child.has_value());
  ::fcntl(child->out.get(), F_SETFL, 0);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(child->out.get(), buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(count));
  int status = 0;
  REQUIRE(::waitpid(child->pid, &status, 0) == child->pid);
  CHECK(status == 0);
  return out;
}

TEST_CASE("only what an interpreter does not satisfy is missing") {
  const bool bare = GENERATE(true, false);
  CAPTURE(bare);
  for (const std::string there : {"numpy", "numpy<2", "numpy>=1.26,<2", "numpy==1.26.*", "numpy~=1.26.0", "numpy!=1.26.3", "numpy == 1.26.4",
                                  "kfp==2.17.0", R"(typing-extensions>=3.7.4,<5; python_version<"3.9")", R"(absent; python_version<"3.0")"}) {
    CAPTURE(there);
    CHECK(missing(there, bare).empty());
  }
  for (const std::string absent : {"absent", "numpy>=2", "numpy==1.26", "numpy<1.26.4", "numpy~=1.25.0", R"(absent; python_version>="3.0")",
                                   "numpy @ https://example.com/numpy.whl", "git+https://example.com/x", "./local"}) {
    CAPTURE(absent);
    CHECK(missing(absent, bare) == absent + "\n");
  }
}

TEST_CASE("extras are taken into account as far as they can be resolved") {
  CHECK(missing("kfp[all]", false).empty());
  CHECK(missing("kfp[kubernetes]", false) == "kfp[kubernetes]\n");
  CHECK(missing("kfp[all]", true) == "kfp[all]\n");
}

}  // namespace
}  // namespace trainstep::local
