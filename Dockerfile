# Installs the packed package: run `npm pack` before. Mount a config at /etc/sandgate: docs/deployment.md.
ARG BUILD=node:26.10.0-bookworm-slim
ARG BASE=node:26.10.0-bookworm-slim

FROM ${BUILD} AS build
WORKDIR /opt/sandgate
COPY package.json package-lock.json deploy/image/packages.mjs ./
RUN ["node", "packages.mjs"]
# Not `npm ci`, which wants the package.json that the lock was made from. The versions are those of the lock.
RUN ["node", "/usr/local/lib/node_modules/npm/bin/npm-cli.js", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
ADD sandgate-*.tgz /tmp/
RUN ["node", "-e", "fs.mkdirSync('/tmp/state')"]

FROM ${BASE}
COPY --from=build /opt/sandgate/node_modules /opt/sandgate/node_modules
COPY --from=build /tmp/package /opt/sandgate/node_modules/sandgate
# A volume that is new gets its owner. Stores that the config does not name are there, as with the unit of systemd.
COPY --from=build --chown=10001:10001 /tmp/state /var/lib/sandgate
ENV STATE_DIRECTORY=/var/lib/sandgate
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /etc/sandgate
EXPOSE 7420
STOPSIGNAL SIGTERM
# Node.js itself is process 1: it gets the signals.
ENTRYPOINT ["node", "/opt/sandgate/node_modules/sandgate/dist/cli/main.js"]
CMD ["serve", "--config", "/etc/sandgate/sandgate.yaml"]
