import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { DispatchEvent } from "../../../src/engine/call/events.ts";
import { createFolder, entriesOf, PROJECT, sandgate } from "../../cli/sandgate.ts";
import { serve } from "../../cli/serve.ts";
import { dispatch, dispatchBody, send } from "../../executor/harness.ts";

const text = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(text)?.[1] ?? "";

/** The fields of each event, by the table. */
const FIELDS = new Map(
  Array.from(
    text
      .split("\n## ", 1)
      .join()
      .matchAll(/^\| `([\w.]+)` \| .*? \| (.*) \|$/gm),
    ([, event = "", fields = ""]) => [event, Array.from(fields.matchAll(/`(\w+)`/g), ([, field]) => field)],
  ),
);
const OF_ALL = ["time", "level", "event"];
const OF_CALLS = ["tool", "call", "session", "principal"];

const TOKEN = "correct-horse-battery-staple";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const CONFIG = `tools:
  - { name: deploy, description: "", inputSchema: { type: object }, host: { module: tools/host.mjs, export: wait } }
  - { name: add, description: "", inputSchema: { required: [a] }, host: { module: tools/host.mjs, export: add, thread: false } }
  - name: guest
    description: ""
    inputSchema: { type: object }
    quickjs: { source: "export default (_, { log }) => { log.info('hello'); throw new Error('oops') }" }
policy:
  rules:
    - { name: release freeze, tools: [deploy], effect: deny, reason: the freeze over the holidays }
    - { name: sums, tools: [add], effect: allow, sandboxes: [host] }
    - { name: guests, tools: [guest], effect: allow, sandboxes: [quickjs] }
    - { name: unused, tools: [gone], effect: deny }
server: { token: { file: token.txt }, tokenName: ci }
log: { level: debug }
`;

/** The log of a server that was sent calls and a wrong request. */
async function logged(): Promise<Record<string, unknown>[]> {
  const server = await serve({ ...PROJECT, "sandgate.yaml": CONFIG, "token.txt": TOKEN });
  const call = (name: string, id: string, args: unknown): Promise<unknown> =>
    dispatch(server, dispatchBody({ id, name, arguments: args }, { session: "s1" }), { headers: HEADERS });
  await call("deploy", "c1", {});
  await call("add", "c2", { a: 1, b: 2 });
  await call("add", "c3", {});
  await call("guest", "c4", {});
  await send(server, {});
  await server.end();
  return entriesOf(await server.log());
}

describe("docs/operations.md", () => {
  test("has a log entry that the command accepts", async () => {
    const config = CONFIG.replace("log: { level: debug }\n", block("yaml"));
    const folder = await createFolder({ ...PROJECT, "sandgate.yaml": config, "token.txt": TOKEN });
    const { code, stdout } = await sandgate(["check", "--config", `${folder}/sandgate.yaml`]);
    expect(stdout).toMatch(/3 tools, 0 errors, 1 warning/);
    expect(code).toBe(0);
  });

  test("shows the lines of a denied call, and lists every field of every event", async () => {
    const entries = await logged();
    const varying = { time: "", durationMs: 0 };
    const shown = block("json")
      .trimEnd()
      .split("\n")
      .map((line) => ({ ...JSON.parse(line), ...varying }));
    const revision = { policyRevision: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(entries.filter(({ call }) => call === "c1").map((entry) => ({ ...entry, ...varying }))).toEqual(
      shown.map((entry) => ("policyRevision" in entry ? { ...entry, ...revision } : entry)),
    );
    for (const { event, ...fields } of entries) {
      const listed = FIELDS.get(String(event)) ?? [];
      const known = [...OF_ALL, ...(String(event).startsWith("tool.") ? OF_CALLS : []), ...listed];
      expect(Object.keys(fields).filter((field) => !known.includes(field))).toEqual([]);
    }
    expect(new Set(entries.map(({ event }) => event)).size).toBeGreaterThan(8);
  });

  test("has a row for each event", () => {
    // A record, so that the compiler reports an event of a call that is missing.
    const calls: Record<DispatchEvent["type"], true> = {
      "tool.decided": true,
      "tool.started": true,
      "tool.output": true,
      "tool.log": true,
      "tool.confirmation_requested": true,
      "tool.confirmation_resolved": true,
      "tool.display": true,
      "tool.completed": true,
      "tool.failed": true,
      "tool.aborted": true,
    };
    expect([...FIELDS.keys()].sort()).toEqual(
      [
        ...Object.keys(calls),
        "server.started",
        "server.stopping",
        "server.stopped",
        "config.warning",
        "config.reloaded",
        "config.refused",
        "policy.difference",
        "server.paused",
        "server.resumed",
        "policy.replaced",
        "request.refused",
        "handshake.refused",
        "process.warning",
        "telemetry.problem",
        "log.lost",
      ].sort(),
    );
  });
});
