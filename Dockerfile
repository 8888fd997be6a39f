FROM node:24-bookworm-slim AS build
ENV TURBO_TELEMETRY_DISABLED=1
RUN npm install --global pnpm@10.34.9
WORKDIR /app
COPY . .
# The embedded Postgres is for laptops and tests: here DATABASE_URL names one.
RUN pnpm install --frozen-lockfile --prod --no-optional && chmod -R a+rX .

FROM node:24-bookworm-slim AS dashboard
RUN npm install --global pnpm@10.34.9
WORKDIR /app
COPY . .
RUN pnpm install --frozen-lockfile --filter @recount/web... && pnpm --filter @recount/web build && chmod -R a+rX apps/web/dist

FROM node:24-bookworm-slim
ENV NODE_ENV=production
# What runs needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-*
# All of it is root's, and nothing is written here: the root file system may be read-only.
COPY --from=build /app /app
COPY --from=dashboard /app/apps/web/dist /app/apps/web/dist
WORKDIR /app
# The base image's user `node`, by number, so that an orchestrator sees that it is not root.
USER 1000:1000
EXPOSE 7878
STOPSIGNAL SIGTERM
ENTRYPOINT ["/app/recount"]
CMD ["--help"]
