# The image of the step: the program, CA certificates, a /tmp. Nothing else, no shell; for any user, with a read-only root if /tmp is a volume.
#
#   docker build -t registry.example/trainstep:0.1.0 .     compiles the program in Debian 12
#   ./dev image                                            takes the one that ./dev build makes; needs no Docker daemon
#
# SPDX-License-Identifier: Apache-2.0
ARG PROGRAM=compiled

FROM debian:12 AS compiled
COPY . /source
RUN cd /source && ./dev build && apt-get install -y --no-install-recommends ca-certificates && tools/image_root.sh build/release/trainstep /image

FROM scratch AS made
COPY build/image/root /image

FROM ${PROGRAM} AS chosen

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="trainstep" \
      org.opencontainers.image.description="The training step of a pipeline" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=chosen /image /
ENV PATH=/usr/local/bin HOME=/tmp
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/trainstep"]
