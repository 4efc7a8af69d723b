# The demo and the program for docker-compose.yml: built in one stage, run in another without a compiler.
FROM debian:bookworm-20240722-slim AS build
WORKDIR /quorumlock
COPY tools/setup.sh tools/
RUN bash -euo pipefail -c 'source tools/setup.sh && install_missing "${build_packages[@]}"' && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset demo -DQUORUMLOCK_SHARED=OFF \
    && cmake --build --preset demo --target flash_sale quorumlock_cli

FROM debian:bookworm-20240722-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libstdc++6 libuv1 libc-ares2 libssl3 openssl \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /quorumlock/build/demo/tools/flash_sale/flash-sale \
    /quorumlock/build/demo/tools/cli/quorumlock /usr/local/bin/
USER nobody
ENTRYPOINT ["flash-sale"]
