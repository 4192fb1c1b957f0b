// Has npm install the optional packages that a config can name (MCP, Restate, PostgreSQL, Cedar, OpenTelemetry, access tokens)
// with the versions of package-lock.json, which has them as packages of the development.
import { readFileSync, writeFileSync } from "node:fs";

/** Only programs use them, not configs. */
const OTHERS = ["piscina", "typescript"];

const { name, version, dependencies, devDependencies, peerDependencies } = JSON.parse(
  readFileSync("package.json", "utf8"),
);
const peers = Object.keys(peerDependencies).filter((peer) => !OTHERS.includes(peer));
const optional = Object.fromEntries(peers.map((peer) => [peer, devDependencies[peer]]));
const manifest = { name, version, private: true, dependencies: { ...dependencies, ...optional } };
writeFileSync("package.json", JSON.stringify(manifest));
