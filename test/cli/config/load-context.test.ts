import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, type Outcome, sandgate } from "../sandgate.ts";

const CONFIG = `tools:
  - name: echo
    description: Returns its input
    inputSchema: { type: object }
    sideEffects: none
    host: { module: tools.mjs, export: echo, thread: false }
  - name: broken
    description: Throws
    inputSchema: { type: object }
    sideEffects: execute
    host: { module: tools.mjs, export: broken, thread: false }
policy: { rules: [{ name: all, tools: ["*"], effect: allow, sandboxes: [host] }] }
`;
const TOOLS = `export const echo = (input) => input;
export const broken = () => { throw new Error("pin=1234"); };
`;

/** Runs a command with {@link CONFIG} and further entries. */
async function run(more: string, argv: readonly string[], stdin = ""): Promise<Outcome> {
  const folder = await createFolder({ "sandgate.yaml": CONFIG + more, "tools.mjs": TOOLS });
  const [name = "", ...rest] = argv;
  const outcome = await sandgate([name, "--config", join(folder, "sandgate.yaml"), ...rest], { stdin });
  return { ...outcome, stderr: outcome.stderr.replaceAll(`${folder}/`, "") };
}

/** Dispatches a call, and returns what `--output json` prints. */
async function dispatch(more: string, name: string, args: object): Promise<Record<string, never>> {
  const call = JSON.stringify([{ id: "1", name, arguments: args }]);
  const { stdout } = await run(more, ["dispatch", "--output", "json"], call);
  return JSON.parse(stdout).executions[0];
}

describe("sandgate dispatch follows the config:", () => {
  test("redaction hides the names and patterns of the config in results and tables", async () => {
    const redaction =
      'unhandledErrors: message\nredaction: { names: [pin], patterns: { badge: "B-[0-9]{4}" }, results: true }\n';
    const execution = await dispatch(redaction, "echo", { card_pin: 1234, note: "badge B-0042" });
    expect(execution["output"]).toEqual({ card_pin: "[redacted: pin]", note: "badge [redacted: badge]" });
    const call = JSON.stringify([{ id: "1", name: "broken", arguments: {} }]);
    expect((await run(redaction, ["dispatch"], call)).stdout).toContain("pin=[redacted: pin]");
  });

  test("a call with a secret is denied where onSecretArgument says so", async () => {
    const execution = await dispatch("redaction: { names: [pin], onSecretArgument: deny }\n", "echo", {
      pin: 1,
    });
    expect(execution["error"]).toMatchObject({ code: "permission_denied" });
  });

  test("timeouts give each class its wall time", async () => {
    const timeouts = "timeouts: { quick: 5s, slow: 2m }\n";
    const echoed = await dispatch(timeouts, "echo", {});
    const broken = await dispatch(timeouts, "broken", {});
    expect(echoed["receipt"]).toMatchObject({ enforced: { wallTimeMs: 5_000 } });
    expect(broken["receipt"]).toMatchObject({ enforced: { wallTimeMs: 120_000 } });
  });

  test("timeouts: none sets no limit, and any other text is a problem", async () => {
    expect((await dispatch("timeouts: none\n", "echo", {}))["receipt"]).toMatchObject({ enforced: {} });
    expect((await run("timeouts: never\n", ["check"])).stderr).toContain(
      "timeouts must be `none`, or a map with quick and slow",
    );
  });

  test("unhandledErrors: redacted shows the model a reference", async () => {
    const execution = await dispatch("unhandledErrors: redacted\n", "broken", {});
    expect(execution["error"]).toMatchObject({
      message: expect.stringMatching(/^Tool failed \(reference [0-9a-f]{6}\)$/),
    });
  });

  test("resultBudget shortens what the model reads", async () => {
    const stdin = JSON.stringify([{ id: "1", name: "echo", arguments: { text: "x".repeat(1_000) } }]);
    const argv = ["dispatch", "--format", "native", "--output", "messages"];
    const { stdout } = await run("resultBudget: { chars: 100, head: 0.5 }\n", argv, stdin);
    const [, { results }] = JSON.parse(stdout);
    expect(results).toMatchObject([{ truncated: { from: 1_011, to: expect.any(Number) } }]);
    expect(results[0].content[0].text).toMatch(/^\{"text":"x+\n\[… \d+ characters left out …\]\nx+"\}$/);
  });
});

describe("sandgate check locates a problem of", () => {
  test.each<[string, string, RegExp]>([
    [
      "a name in redaction",
      "redaction: { names: [pin, a b] }",
      /^sandgate\.yaml:13:27: the name 'a b' cannot/,
    ],
    [
      "a pattern that is not linear",
      'redaction: { patterns: { ok: "a+", bad: "(a)\\\\1" } }',
      /^sandgate\.yaml:13:41: the pattern 'bad' cannot be used/,
    ],
    ["onSecretArgument", "redaction: { onSecretArgument: ask }", /:13:32: must be one of pass, deny/],
    ["an unknown key of redaction", "redaction: { name: [pin] }", /:13:14: .* did you mean 'names'\?/],
    ["a class without a time-out", "timeouts: { quick: 60s }", /:13:11: 'slow' is missing/],
    [
      "a time-out without a unit",
      "timeouts: { quick: 60s, slow: soon }",
      /:13:31: must be a duration such as/,
    ],
    ["a time-out that is too long", "timeouts: { quick: 60s, slow: 9000h }", /:13:31: must be at most/],
    ["unhandledErrors", "unhandledErrors: hidden", /:13:18: must be one of message, redacted/],
    ["resultBudget", "resultBudget: { chars: 0 }", /:13:24: must be 1 or more/],
    ["the head of resultBudget", "resultBudget: { chars: 10, head: 2 }", /:13:34: must be from 0 to 1/],
    ["requireSideEffects", "requireSideEffects: 1", /:13:21: must be true or false, not a number/],
  ])("%s", async (_what, entry, problem) => {
    const { code, stderr } = await run(`${entry}\n`, ["check"]);
    expect(stderr).toMatch(problem);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(code).toBe(2);
  });

  test("a tool without a class where requireSideEffects says so", async () => {
    const tool = `  - { name: free, description: "", inputSchema: { type: object }, host: { module: tools.mjs, export: echo } }
`;
    const folder = await createFolder({
      "sandgate.yaml": CONFIG.replace("policy:", `${tool}requireSideEffects: true\npolicy:`),
      "tools.mjs": TOOLS,
    });
    const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
    expect(stderr).toMatch(/sandgate\.yaml:12:5: .*sideEffects/);
    expect(code).toBe(2);
  });
});
