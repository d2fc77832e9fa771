# A small image that runs the demo as a user without rights: docker build -t transect . && docker run --rm transect
# The wheel is built in the first stage, so that the second has no source and no build tools.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY constraints.txt /release/constraints.txt
COPY --from=build /wheels /release/wheels
# PyTorch's own index for CPUs has builds without CUDA, a tenth of the size; pass it with --build-arg TORCH_INDEX=ADDRESS.
ARG TORCH_INDEX=""
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN if [ -n "$TORCH_INDEX" ]; then \
      pip install --no-cache-dir --index-url "$TORCH_INDEX" "$(grep ^torch== /release/constraints.txt)"; fi \
    && pip install --no-cache-dir --find-links /release/wheels --constraint /release/constraints.txt "transect[demo]==0.1.0" \
    && useradd --create-home --uid 10001 auditor \
    && install --directory --owner auditor /runs
USER 10001
WORKDIR /runs
VOLUME ["/runs"]
ENTRYPOINT ["transect"]
CMD ["demo", "--out", "/runs/demo"]
