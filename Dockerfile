# syntax=docker/dockerfile:1

# The build is of the same Debian as the image, so that glibc agrees.
FROM rust:1.95-slim-bookworm AS build
# mimalloc is C.
RUN apt-get update && apt-get install -y --no-install-recommends build-essential \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
# The build needs no database: what statements look like is in .sqlx.
ENV SQLX_OFFLINE=true
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/build/target \
    cargo build --release --locked --bin handoffd \
    && strip --strip-debug -o /handoffd target/release/handoffd

# glibc, libgcc, certificates and nothing else: no shell, no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /handoffd /usr/local/bin/handoffd
USER nonroot
EXPOSE 7420
# In a container loopback reaches nobody; --allow-unauthenticated is left to whoever runs it.
ENV HANDOFFD_LISTEN=0.0.0.0:7420
ENV HANDOFFD_LOG_FORMAT=json
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/handoffd"]
CMD ["serve"]
