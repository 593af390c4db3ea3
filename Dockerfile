# The image of the step: the program, CA certificates, what is in it (SPDX), a /tmp. Nothing else, no shell; for any user, with a read-only root if /tmp is a
# volume. It has no base image.
#
#   docker build -t registry.example/trainstep:0.1.0 --build-arg VERSION=0.1.0 .     compiles the program in Debian 12
#   ./dev image                                                                      takes the one that ./dev build makes; needs no Docker daemon
#   ./dev image --all                                                                that for amd64, arm64 and ppc64le
#
# SPDX-License-Identifier: Apache-2.0
ARG PROGRAM=compiled
ARG ROOT=build/image/root/amd64

FROM debian:12 AS compiled
COPY . /source
RUN cd /source && ./dev build && apt-get install -y --no-install-recommends ca-certificates python3 \
  && tools/image_root.sh build/release "$(dpkg --print-architecture)" /image

FROM scratch AS made
ARG ROOT
COPY ${ROOT} /image

FROM ${PROGRAM} AS chosen

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="trainstep" \
      org.opencontainers.image.description="The training step of a pipeline" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=chosen /image /
ENV PATH=/usr/local/bin HOME=/tmp
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/trainstep"]
