# agentloop with a browser inside, as a user without rights and with Chromium's own sandbox on.
#
#   docker build --tag agentloop .
#   docker run --rm --init --shm-size 1g --security-opt seccomp=docker/seccomp.json \
#       --env OPENAI_API_KEY agentloop browse "Which socks are cheapest?" --url https://shop.example
#
# The seccomp profile is needed: Chromium's sandbox makes user namespaces, and Docker's default profile
# refuses them. docker/README.md says what it allows and what to do where the kernel forbids them too.

FROM python:3.12-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
# agentloop/browser, agentloop/drivers and agentloop/testing/sites are links to these folders.
COPY agentloop agentloop
COPY browser browser
COPY drivers drivers
COPY fixtures fixtures
RUN pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.12-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium chromium-headless-shell fonts-liberation fonts-noto-color-emoji \
    && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels agentloop-engine
RUN useradd --create-home --uid 10001 agentloop
USER agentloop
WORKDIR /home/agentloop
ENV PYTHONUNBUFFERED=1
# Where sessions and the files of runs are kept: mount a volume here to keep them.
RUN mkdir -m 700 -p /home/agentloop/.local/share/agentloop
VOLUME /home/agentloop/.local/share/agentloop
HEALTHCHECK --interval=60s --timeout=30s --start-period=10s --retries=3 CMD ["agentloop", "doctor"]
ENTRYPOINT ["agentloop"]
CMD ["--help"]
