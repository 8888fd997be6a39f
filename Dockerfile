FROM node:24-bookworm-slim
ENV NODE_ENV=production TURBO_TELEMETRY_DISABLED=1
RUN npm install --global pnpm@10.34.9
WORKDIR /app
COPY . .
# The embedded Postgres is for laptops and tests: here DATABASE_URL names one.
RUN pnpm install --frozen-lockfile --prod --no-optional && rm -rf /root/.cache /root/.npm
USER node
EXPOSE 7878
STOPSIGNAL SIGTERM
ENTRYPOINT ["/app/recount"]
CMD ["--help"]
