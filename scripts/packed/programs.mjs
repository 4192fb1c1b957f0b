// Has a program wait, and checks that it is suspended meanwhile, and that the command lists it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { openSuspensions, registerPrograms, SqliteSuspensionStore } from "sandgate/programs";

process.on("warning", (warning) => assert.notEqual(warning.code, "SANDGATE_NOT_SUSPENDED", warning.message));

rmSync("programs.db", { force: true });
await using suspensions = openSuspensions({
  store: new SqliteSuspensionStore("programs.db"),
  keys: [{ id: "k1", key: randomBytes(32) }],
  afterMs: 1,
});
const listPrograms = () =>
  execFileSync(
    process.execPath,
    [resolve("node_modules/sandgate/dist/cli/main.js"), "programs", "list", "--file", "programs.db"],
    { encoding: "utf8" },
  );

const registry = new ToolRegistry();
registry.register(
  defineTool({
    name: "wait",
    description: "Waits until its caller is suspended.",
    sideEffects: "none",
    inputSchema: { type: "object" },
    host: async (_input, { signal }) => {
      while ((await suspensions.list()).length === 0) await delay(10, undefined, { signal });
      return listPrograms();
    },
  }),
);
registerPrograms(registry);

await using sandboxes = await openSandboxes();
const policy = {
  check: ({ tool }) =>
    tool.name === "run_program"
      ? allow({ sandbox: "quickjs", capabilities: { tools: ["wait"] } })
      : allow({ sandbox: "host" }),
};
const execution = await new ToolDispatchEngine().dispatch(
  { id: "call_1", name: "run_program", arguments: { code: "return await tools.wait({})" } },
  { registry, policy, sandboxes, suspensions, sessionId: "packed" },
);
assert.match(
  String(execution.output),
  / run_program .* 1 call open {2}7 days left/,
  JSON.stringify(execution),
);
