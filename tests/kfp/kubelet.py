# SPDX-License-Identifier: Apache-2.0
"""How Kubernetes expands the words of a container: $(NAME) becomes the value of that variable of the pod, $$ becomes $."""
import re

POD = {"KFP_POD_NAME": "train-pod", "KFP_POD_UID": "0b9e6a52"}


def expanded(text: str) -> str:
    return re.sub(r"\$(?:\$|\((\w+)\))", lambda found: "$" if found[1] is None else POD.get(found[1], found[0]), text)
