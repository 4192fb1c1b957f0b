import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { dispatch, dispatchBody, executionOf } from "../../../executor/harness.ts";
import { createFolder, type Outcome, sandgate } from "../../sandgate.ts";
import { start } from "../../serve.ts";

const CONFIG = `
tools:
  - name: read_file
    description: Reads a file
    inputSchema: { type: object, properties: { path: { type: string } }, required: [path] }
    sideEffects: read
    host: { module: tools.mjs, export: run, thread: false }
policy:
  cedar: policies.cedar
  grants:
    default: { sandboxes: [host], limits: { wallTime: 2s } }
`;
const POLICIES = `
@id("sources")
permit (principal, action == Sandgate::Action::"read_file", resource)
when { context.input.path like "src/*" };
`;
const CALL = '{"tool":"read_file","arguments":{"path":"src/a.ts"}}';

async function run(
  command: readonly string[],
  files: Record<string, string> = {},
  ...others: readonly string[]
): Promise<Outcome> {
  const folder = await createFolder({
    "sandgate.yaml": CONFIG,
    "policies.cedar": POLICIES,
    "tools.mjs": "export const run = () => 'done';",
    ...files,
  });
  return sandgate([...command, "--config", join(folder, "sandgate.yaml"), ...others]);
}

describe("a config with a policy in Cedar", () => {
  test("is checked without a problem", async () => {
    expect(await run(["check"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("explains decisions", async () => {
    const { code, stdout } = await run(["policy", "explain"], {}, "--call", CALL);
    expect(stdout.split("\n")).toEqual([
      "allow: read_file runs in host",
      "  'sources' (allow) matches: its scope and its conditions are met",
      "  sandbox host: from 'sources'",
      "  limit wallTime 2s: from 'sources'",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("has cases of a policy test", async () => {
    const cases = "- { call: { tool: read_file, arguments: { path: lib/a.ts } }, expect: deny }";
    expect(await run(["policy", "test"], { "sandgate.policy-test.yaml": cases })).toMatchObject({ code: 0 });
  });

  test("joins policies of rules", async () => {
    const joined = CONFIG.replace("policy:", "policy:\n - rules: []\n -").replaceAll(
      /^ {2}(cedar|grants| {2}default)/gm,
      "   $1",
    );
    const { stdout } = await run(["policy", "explain"], { "sandgate.yaml": joined }, "--call", CALL);
    expect(stdout).toContain("deny: read_file does not run");
  });

  test("has a candidate in Cedar", async () => {
    const files = {
      "sandgate.yaml": CONFIG.replace(/policy:[\s\S]*/, "policy: { rules: [] }\nshadow: candidate.yaml\n"),
      "candidate.yaml": "cedar: policies.cedar\ngrants: { default: { sandboxes: [host] } }",
    };
    expect((await run(["check"], files)).stderr).toBe("");
    const bad = await run(["check"], { ...files, "policies.cedar": "permit (principal, action);" });
    expect(bad.stderr).toMatch(/policies\.cedar:1:\d+: /);
  });

  test.each([
    [{ "policies.cedar": "permit (principal);" }, /policies\.cedar:1:\d+: /],
    [
      { "policies.cedar": POLICIES.replace("read_file", "read_fil") },
      /policies\.cedar:3:\d+: .*did you mean/,
    ],
    [
      { "sandgate.yaml": CONFIG.replace("policies.cedar", "none.cedar") },
      /sandgate\.yaml:9:10: cannot read 'none\.cedar': ENOENT/,
    ],
    [{ "sandgate.yaml": CONFIG.replace("[host]", "[hosts]") }, /sandgate\.yaml:\d+:\d+: must be one of host/],
    [
      { "sandgate.yaml": CONFIG.replace("  grants:\n    default", "  grant:\n    default") },
      /sandgate\.yaml:\d+:\d+: .*grants/,
    ],
  ])("reports %j with its position", async (files, problem) => {
    const { code, stderr } = await run(["check"], files as Record<string, string>);
    expect(stderr).toMatch(problem);
    expect(code).not.toBe(0);
  });

  test("is served, and read again on SIGHUP, unless it is not valid", async () => {
    const folder = await createFolder({
      "sandgate.yaml": CONFIG,
      "policies.cedar": POLICIES,
      "tools.mjs": "export const run = () => 'done';",
    });
    const { address, child } = await start(folder);
    const lines = createInterface(child.stderr as Readable)[Symbol.asyncIterator]();
    const change = async (policies: string): Promise<string> => {
      await writeFile(join(folder, "policies.cedar"), policies);
      child.kill("SIGHUP");
      for (;;) {
        const { event } = JSON.parse((await lines.next()).value ?? "");
        if (/^config\.re/.test(event)) return event;
      }
    };
    let calls = 0;
    const codeOf = async (path: string): Promise<string | undefined> => {
      const body = dispatchBody({ id: `call_${++calls}`, name: "read_file", arguments: { path } });
      return executionOf(await dispatch({ address }, body)).error?.code;
    };
    expect([await codeOf("src/a.ts"), await codeOf("lib/a.ts")]).toEqual([undefined, "permission_denied"]);
    expect(await change(POLICIES.replace("src/", "lib/").replace("read_file", "read_fil"))).toBe(
      "config.refused",
    );
    expect([await codeOf("src/a.ts"), await codeOf("lib/a.ts")]).toEqual([undefined, "permission_denied"]);
    expect(await change(POLICIES.replace("src/", "lib/"))).toBe("config.reloaded");
    expect([await codeOf("src/a.ts"), await codeOf("lib/a.ts")]).toEqual(["permission_denied", undefined]);
  });
});
