#!/usr/bin/env node
// This file imports nothing and uses old syntax only, so that an old Node.js can run it and print what is
// wrong.
/** The oldest supported version: that of `engines` in package.json. */
const OLDEST = 24;

if (Number.parseInt(process.versions.node, 10) >= OLDEST) {
  const { start } = await import("./run.ts");
  await start();
} else {
  process.stderr.write(
    `sandgate: Node.js ${OLDEST} or newer is needed, and this is ${process.versions.node}\n`,
  );
  process.exitCode = 2;
}

export {};
