import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LimitName } from "../../src/policy/grant/limits.ts";
import type { EnforcerOf } from "../../src/sandboxes/contract/enforced-limits.ts";

const CONTRACT = "contract/contract.test.ts";
const QUICKJS = "sandboxes/quickjs/limits.test.ts";
const PROCESS = "sandboxes/process/process-sandbox.test.ts";
const MICROVM = "sandboxes/microvm/microvm-sandbox.test.ts";
const HTTP_TOOL = "sandboxes/remote/endpoint/http-tool.test.ts";
const MCP = "sandboxes/remote/mcp-client/mcp-sandbox.test.ts";

/**
 * The tests that show that a limit holds, below `test/`. Does not compile if a sandbox is said to enforce a limit and no test
 * is named.
 */
const TESTS: { readonly [Name in LimitName]: Readonly<Record<EnforcerOf<Name>, string>> } = {
  wallTimeMs: {
    host: CONTRACT,
    "host-files": CONTRACT,
    quickjs: CONTRACT,
    wasm: CONTRACT,
    process: CONTRACT,
    microvm: CONTRACT,
    endpoint: CONTRACT,
    mcp: MCP,
  },
  memoryBytes: { quickjs: CONTRACT, wasm: CONTRACT, process: PROCESS, microvm: CONTRACT },
  outputBytes: {
    host: CONTRACT,
    "host-files": CONTRACT,
    quickjs: CONTRACT,
    wasm: CONTRACT,
    process: CONTRACT,
    microvm: CONTRACT,
    endpoint: CONTRACT,
    mcp: MCP,
  },
  stackBytes: { quickjs: QUICKJS },
  logLines: {
    quickjs: QUICKJS,
    wasm: "sandboxes/wasm/host/wasi/wasi.test.ts",
    process: PROCESS,
    microvm: MICROVM,
  },
  nestedCalls: { quickjs: QUICKJS, wasm: "sandboxes/wasm/host/sandgate/tools.test.ts" },
  fileBytes: {
    "host-files": "sandboxes/host/files.test.ts",
    quickjs: "sandboxes/quickjs/thread/files.test.ts",
    wasm: "sandboxes/wasm/host/wasi/filesystem.test.ts",
  },
  netBytes: {
    quickjs: "sandboxes/quickjs/fetch.test.ts",
    wasm: "sandboxes/wasm/host/wasi-http/http.test.ts",
    process: "sandboxes/process/call-network.test.ts",
    endpoint: HTTP_TOOL,
  },
  cpuMs: { process: PROCESS },
  processes: { process: PROCESS, microvm: MICROVM },
  processMemoryBytes: { process: PROCESS },
  waitTimeMs: { quickjs: "programs/suspension/restart.test.ts" },
};

test.each(Object.entries(TESTS))("each sandbox that enforces %s has a test of it", (name, tests) => {
  for (const file of Object.values(tests)) {
    expect(readFileSync(join(import.meta.dirname, "..", file), "utf8"), file).toMatch(
      new RegExp(`\\b${name}\\b`),
    );
  }
});
