# Builds the package from the sources, and installs it alone. Mount a config at /etc/sandgate: docs/deployment.md.
FROM node:26.10.0-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci
RUN npm run --silent build
RUN npm pack --silent --pack-destination /tmp
WORKDIR /opt/sandgate
RUN echo '{ "private": true }' > package.json
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund /tmp/sandgate-*.tgz

FROM node:26.10.0-bookworm-slim
COPY --from=build /opt/sandgate /opt/sandgate
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /etc/sandgate
EXPOSE 7420
STOPSIGNAL SIGTERM
# Node.js itself is process 1: it gets the signals.
ENTRYPOINT ["node", "/opt/sandgate/node_modules/sandgate/dist/cli/main.js"]
CMD ["serve", "--config", "/etc/sandgate/sandgate.yaml"]
