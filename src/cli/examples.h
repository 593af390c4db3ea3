// The ends of the help texts: examples, which the tests run, and exit codes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace trainstep::cli {

inline constexpr std::string_view app_examples = R"help(
Examples:
  trainstep run --help
  trainstep completion --help)help";

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 8> exit_codes{{
    {"0", "succeeded"},
    {"1", "the training program failed"},
    {"2", "invalid usage, input or configuration; nothing was trained"},
    {"3", "infrastructure failure, or unknown outcome"},
    {"4", "a time limit was exceeded"},
    {"5", "no capacity"},
    {"75", "interrupted; the job keeps running"},
    {"129, 130, 143", "cancelled"},
}};

inline constexpr std::string_view run_examples = R"help(
Inputs can be read from files: @FILE.

Your own program follows --, with {train_dataset_dir}, {validation_dataset_dir}, {model_dir} and {metrics} in place of paths.

Examples:
  # your own program, as a process on this machine
  trainstep run -- python3 -c 'print("accuracy=0.9")'

  # the PyTorch sample on two ranks
  trainstep run --train-specification @samples/pytorch/train_specification.v2.yaml --train-parameters '{"epochs": 4}' \
    -n 2 --type PyTorch \
    --model-dir model --report report.html)help";

inline constexpr std::string_view render_examples = R"help(
Examples:
  # what would be sent to Kubernetes, and why
  trainstep render --explain --train-specification @samples/mpi/train_specification.v1.yaml \
    --distribution-specification '{"distribution_type": "MPI", "number_of_workers": 3, "worker_cpus": "8"}')help";

inline constexpr std::string_view check_examples = R"help(
Examples:
  # check whether this namespace would accept a step with three workers; print the missing Role
  trainstep check --namespace team-a --train-specification @samples/pytorch/train_specification.v2.yaml \
    --distribution-specification '{"distribution_type": "PyTorch", "number_of_workers": 3, "worker_cpus": "8"}')help";

inline constexpr std::string_view jobs_examples = R"help(
Examples:
  # list the runs of a namespace, print a run's log, stop it
  trainstep list --namespace team-a
  trainstep logs --namespace team-a my-run worker-1
  trainstep attach --namespace team-a my-run --report report.html
  trainstep stop --namespace team-a my-run)help";

inline constexpr std::string_view replay_examples = R"help(
Examples:
  # record a run for a bug report, and replay it
  trainstep run --record run.jsonl --train-specification '{"image": "python:3.11", "command": ["python3", "-c", "print(\"accuracy=0.9\")"]}'
  trainstep replay run.jsonl)help";

inline constexpr std::string_view exec_examples = R"help(
Examples:
  # run by hand what a training pod runs: a program without inputs and outputs
  echo '{"job": "try"}' >task.json
  trainstep exec --task task.json -- sh -c 'echo trained')help";

inline constexpr std::string_view completion_examples = R"help(
Examples:
  # bash, for this shell or in ~/.bashrc
  source <(trainstep completion bash)

  # zsh: in ~/.zshrc, after compinit
  source <(trainstep completion zsh)

  # fish: in ~/.config/fish/config.fish
  trainstep completion fish | source)help";

inline constexpr std::string_view man_examples = R"help(
Examples:
  trainstep man >trainstep.1
  man ./trainstep.1)help";

}  // namespace trainstep::cli
