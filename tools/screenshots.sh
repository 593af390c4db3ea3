#!/bin/bash
# tools/screenshots.sh: regenerates the pictures in docs/pictures from reports of real runs, in a headless Chromium; check them before committing.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

read -ra packages <<<"$(sample_packages pytorch)"
need "${build_packages[@]}" "${source_packages[@]}" "${python_packages[@]}" "${packages[@]}" chromium pngquant fonts-dejavu-core
venv pytorch
build release trainstep
here=/tmp/digits  # shown in the reports
mkdir "$here"
trap 'rm -rf "$here"' EXIT

# train FOLDER SPECIFICATION PARAMETERS
train() {
  mkdir -p "$here/$1"
  (cd "$here/$1" && "$root/build/release/trainstep" run --cluster local --python "$root/build/venv/pytorch/bin/python" --model-name digits --model-dir model \
    --train-specification "$2" --train-parameters "$3" --report report.html \
    --distribution-specification '{"distribution_type": "PyTorch", "number_of_workers": 2, "worker_cpus": "4", "worker_memory": "8Gi"}')
}
step "a training" train success "@$root/samples/pytorch/train_specification.v2.yaml" '{"epochs": 40}'

cat >"$here/train.py" <<'END'
import numpy
import torch

torch.manual_seed(0)
images, weights = torch.rand(718, 64), torch.zeros(64, requires_grad=True)
for epoch in range(1, 9):
    loss = ((images @ weights - 1) ** 2).mean()
    loss.backward()
    weights.data -= 0.005 * weights.grad
    weights.grad = None
    print(f"epoch={epoch}/8 loss={loss.item():.4f}", flush=True)
    if epoch == 4:
        validation = numpy.load("/train/validation/digits.npz")
END
! (step "a failure" train failure '{"image": "none", "command": ["python3", "'"$here"'/train.py"]}' '{}' 2>/dev/null) || die "the failing training succeeded"

for scheme in light dark; do
  tools/screenshot.py "$here/success/report.html" 900 "$scheme" "docs/pictures/report-$scheme.png"
done
tools/screenshot.py "$here/failure/report.html" 900 light docs/pictures/failure-light.png
tools/screenshot.py "$here/failure/report.html" 390 dark docs/pictures/failure-phone.png
