// SPDX-License-Identifier: Apache-2.0
#include "local/packages.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace trainstep::local {
namespace {

using Words = std::vector<std::string>;

const std::string v1 =
    R"((PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install --quiet --no-warn-script-location 'numpy<2' "it's" || )"
    R"(PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install --quiet --no-warn-script-location 'numpy<2' "it's" --user) && "$0" "$@")";

std::string v2(const std::string& commands) {
  return "\nif ! [ -x \"$(command -v pip)\" ]; then\n    python3 -m ensurepip || python3 -m ensurepip --user || apt-get install python3-pip\nfi\n\n"
         "PIP_DISABLE_PIP_VERSION_CHECK=1 " +
         commands + " && \"$0\" \"$@\"\n";
}
const std::string user_packages = "python3 -m pip install --quiet --no-warn-script-location 'PyYAML==6.0.3' 'urllib3<3'";
const std::string kfp =
    R"(python3 -m pip install --quiet --no-warn-script-location 'kfp==2.17.0' '--no-deps' 'typing-extensions>=3.7.4,<5; python_version<"3.9"')";
const std::string venv =
    "\nexport PIP_DISABLE_PIP_VERSION_CHECK=1\ntmp=$(mktemp -d)\npython3 -m venv \"$tmp/venv\" --system-site-packages\n. "
    "\"$tmp/venv/bin/activate\"\n";

TEST_CASE("the installers of both SDKs are understood") {
  struct Row {
    std::string script;
    Words requirements;
    bool environment = false;
  };
  const Words kfp_requirements{"kfp==2.17.0", R"(typing-extensions>=3.7.4,<5; python_version<"3.9")"};
  const std::vector<Row> rows{
      {v1, {"numpy<2", "it's"}},
      {v2(kfp), kfp_requirements},
      {v2(user_packages + "  &&  " + kfp), {"PyYAML==6.0.3", "urllib3<3", kfp_requirements[0], kfp_requirements[1]}},
      {v2(venv + " " + kfp), kfp_requirements, true},
      {v2("python3 -m pip install --quiet --index-url https://a/simple --extra-index-url https://b/simple --trusted-host https://a/simple 'x'"),
       {"x"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.script);
    const auto installers = find_installers({"sh", "-c", row.script, "sh", "-ec", "program", "text"});
    REQUIRE(installers.size() == 1);
    CHECK(installers[0].word == 2);
    CHECK(installers[0].requirements == row.requirements);
    CHECK(installers[0].makes_environment == row.environment);
  }
}

TEST_CASE("a script that does anything else is left alone") {
  for (const std::string script : {
           R"(python3 -m pip install x; export A=1 && "$0" "$@")",
           "python3 -m pip install x\nexport A=1 && \"$0\" \"$@\"",
           R"(python3 -m pip install "$PACKAGES" && "$0" "$@")",
           R"(python3 -m pip install $(cat list) && "$0" "$@")",
           R"(python3 -m pip install -r requirements.txt && "$0" "$@")",
           R"(python3 -m pip install x && python3 train.py)",
           R"(python3 -m pip install x && make data && "$0" "$@")",
           R"(python3 -m pip install 'x && "$0" "$@")",
           R"(python3 -m pip install && "$0" "$@")",
           R"(python3 -m pip install x > log && "$0" "$@")",
           R"(cd /src && python3 -m pip install x && "$0" "$@")",
       }) {
    CAPTURE(script);
    CHECK(find_installers({"sh", "-c", script, "next"}).empty());
  }
  CHECK(find_installers({"python3", "-c", v1}).empty());
}

TEST_CASE("an installer is run alone once, and left out of the command line") {
  const Words argv{"sh", "-c", v1, "python3", "train.py"};
  const auto installers = find_installers(argv);
  REQUIRE(installers.size() == 1);
  CHECK(install_command(argv, installers[0]) == Words{"sh", "-c", v1, "true"});
  CHECK(without(argv, installers[0]) == Words{"sh", "-c", R"(exec "$0" "$@")", "python3", "train.py"});
}

}  // namespace
}  // namespace trainstep::local
