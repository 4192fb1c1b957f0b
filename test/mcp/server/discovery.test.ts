import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { send, startMcpServer } from "./harness.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

test("the server says which version of the package it is, and what it offers to this principal", async () => {
  const { body } = await send(await startMcpServer([]), "server/discover", {});
  expect(body).toMatchObject({
    result: {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true } },
      cacheScope: "private",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "sandgate", version } },
    },
  });
});
