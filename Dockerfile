# The image runs the npm package, as `npm install` gives it to everybody.
FROM node:24-bookworm-slim AS build
ENV TURBO_TELEMETRY_DISABLED=1
RUN npm install --global pnpm@10.34.9
WORKDIR /src
COPY . .
RUN pnpm install --frozen-lockfile && pnpm run package
RUN npm install --prefix /app --omit=dev --ignore-scripts --no-audit --no-fund ./dist/recount-*.tgz && chmod -R a+rX /app

FROM node:24-bookworm-slim
# A small young generation keeps a worker's memory small; an API's is best at 1: docs/operations.md.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=8
# What runs needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-*
# All of it is root's, and nothing is written here: the root file system may be read-only.
COPY --from=build /app /app
# The base image's user `node`, by number, so that an orchestrator sees that it is not root.
USER 1000:1000
EXPOSE 7878
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/node_modules/recount/apps/cli/bin/recount.mjs"]
CMD ["--help"]
