import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate, type TerminalOptions } from "../sandgate.ts";

const CONFIG = `
tools:
  - name: write_note
    description: Writes a note
    inputSchema: { type: object }
    sideEffects: write
    host: { module: tools.mjs, export: write, thread: false }
  - name: read_note
    description: Reads a note
    inputSchema: { type: object }
    sideEffects: read
    host: { module: tools.mjs, export: read, thread: false }
policy:
  rules:
    - { name: notes, tools: ["*_note"], effect: allow, sandboxes: [host], limits: { wallTime: 2s } }
    - { name: no secrets, tools: [read_note], when: { /text: { equals: secret } }, effect: deny }
    - { name: ask about drafts, tools: [read_note], when: { /text: { equals: draft } }, effect: ask, question: Read it?, sandboxes: [host] }
`;
const TOOLS = `
export const write = (input) => { process.env.SANDGATE_TEST_WRITTEN = JSON.stringify(input); return input; };
export const read = (input) => input;
`;

function message(...calls: readonly object[]): string {
  return JSON.stringify({ role: "assistant", content: null, tool_calls: calls });
}

function call(id: string, name: string, text: string): object {
  return { id, type: "function", function: { name, arguments: JSON.stringify({ text }) } };
}

async function dispatch(
  text: string,
  argv: readonly string[],
  options: TerminalOptions = {},
  config = CONFIG,
) {
  delete process.env["SANDGATE_TEST_WRITTEN"];
  const folder = await createFolder({ "sandgate.yaml": config, "tools.mjs": TOOLS, "message.json": text });
  return sandgate(
    ["dispatch", join(folder, "message.json"), "-c", join(folder, "sandgate.yaml"), ...argv],
    options,
  );
}

describe("sandgate dispatch --confirm", () => {
  const WRITE = message(call("c1", "write_note", "hi"));

  test("asks on the terminal about the calls that need it, and runs those that the person allows", async () => {
    const { code, stdout, stderr } = await dispatch(
      message(call("c1", "write_note", "hi"), call("c2", "read_note", "x")),
      ["--confirm"],
      {
        isInteractive: true,
        stdin: "y\n",
      },
    );
    expect(stderr).toContain("the message asks to call 'write_note' (write, call 'c1')");
    expect(stderr).not.toContain("read_note");
    expect(stdout).toMatch(/c1 .*ok.*\n.*c2 .*ok/);
    expect([code, process.env["SANDGATE_TEST_WRITTEN"]]).toEqual([0, '{"text":"hi"}']);
  });

  test("does not run a call that the person denies, or about which the input ends", async () => {
    for (const stdin of ["n\n", ""]) {
      const { stdout } = await dispatch(WRITE, ["--confirm"], { isInteractive: true, stdin });
      expect(stdout).toContain("user_denied: User denied this operation.");
      expect(process.env["SANDGATE_TEST_WRITTEN"]).toBeUndefined();
    }
  });

  test("asks as the config says", async () => {
    const trusting = `${CONFIG}confirmations: { tools: { write_note: auto, read_note: prompt }, timeout: 5min }\n`;
    const { stderr } = await dispatch(
      message(call("c1", "write_note", "hi"), call("c2", "read_note", "x")),
      ["--confirm"],
      { isInteractive: true, stdin: "n\n" },
      trusting,
    );
    expect(stderr).toContain("call 'read_note'");
    expect(stderr).not.toContain("call 'write_note'");
    const invalid = `${CONFIG}confirmations: { tools: { write_note: maybe }, timeout: soon }\n`;
    const refused = await dispatch(WRITE, [], {}, invalid);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toMatch(/must be one of auto, prompt, deny, prompt_once/);
  });

  test("asks as a mode of the config says, and refuses a mode that is none", async () => {
    const modes = "modes: { careful: { base: autonomous, tools: { read_note: prompt } } }";
    const { stderr } = await dispatch(
      message(call("c1", "write_note", "hi"), call("c2", "read_note", "x")),
      ["--confirm"],
      { isInteractive: true, stdin: "n\n" },
      `${CONFIG}confirmations: { mode: careful, ${modes} }\n`,
    );
    expect(stderr).toContain("call 'read_note'");
    expect(stderr).not.toContain("call 'write_note'");
    const invalid = `${CONFIG}confirmations: { mode: careless, modes: { plan: { base: plan }, "a b": { base: maybe } } }\n`;
    const refused = await dispatch(WRITE, [], {}, invalid);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toMatch(/must be one of cautious, autonomous, manual, plan, review, audit/);
    const named = await dispatch(WRITE, [], {}, invalid.replace("maybe", "plan"));
    expect(named.stderr).toMatch(/18:\d+: the mode 'plan' cannot be defined again/);
    expect(named.stderr).toMatch(/the name of a mode must be 1 to 64 letters/);
    expect(named.stderr).toMatch(/must be one of cautious, .*, audit, a b/);
  });

  test("is refused without a terminal", async () => {
    const { code, stderr } = await dispatch(WRITE, ["--confirm"], { stdin: "y\n" });
    expect([code, stderr]).toMatchObject([2, expect.stringContaining("--confirm needs a terminal")]);
    expect(process.env["SANDGATE_TEST_WRITTEN"]).toBeUndefined();
  });
});

describe("sandgate dispatch --dry-run", () => {
  const CALLS = message(
    call("c1", "write_note", "hi"),
    call("c2", "read_note", "secret"),
    call("c3", "read_note", "draft"),
    call("c4", "nothing", ""),
  );

  test("prints the decision and the grant of each call, and runs nothing", async () => {
    const { code, stdout } = await dispatch(CALLS, ["--dry-run"]);
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(
        /^\| c1: write_note: allow: host, limits \{"wallTimeMs":2000\}, capabilities \{\} \(notes\)$/,
      ),
      expect.stringMatching(/^\| c2: read_note: fails: permission_denied: .*\(no secrets\)$/),
      expect.stringMatching(/^\| c3: read_note: ask 'Read it\?': host, .*ask about drafts\)$/),
      expect.stringMatching(/^\| c4: nothing: fails: not_found: /),
      "",
    ]);
    expect([code, process.env["SANDGATE_TEST_WRITTEN"]]).toEqual([0, undefined]);
  });

  test("prints the same as JSON", async () => {
    const { stdout } = await dispatch(CALLS, ["--dry-run", "--output", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      calls: [
        { callId: "c1", decision: { decision: "allow", grant: { sandbox: "host" }, rules: ["notes"] } },
        { callId: "c2", decision: { decision: "deny" }, error: { code: "permission_denied" } },
        { callId: "c3", decision: { decision: "ask", question: "Read it?" } },
        { callId: "c4", error: { code: "not_found" } },
      ],
    });
  });

  test("records calls that can be decided again", async () => {
    const folder = await createFolder({
      "sandgate.yaml": `${CONFIG}journal: { directory: records }\n`,
      "tools.mjs": TOOLS,
      "message.json": CALLS,
    });
    const config = ["--config", join(folder, "sandgate.yaml")];
    await sandgate(["dispatch", join(folder, "message.json"), "--dry-run", ...config]);
    const { stdout } = await sandgate(["journal", "replay", ...config]);
    expect(stdout).toContain("decided as recorded, 0 differently");
    expect(stdout).not.toContain("policy in code");
  });

  test("is refused together with --confirm", async () => {
    expect((await dispatch(CALLS, ["--dry-run", "--confirm"])).code).toBe(2);
  });
});

test("what a tool displays is shown as text, and not as words of the command", async () => {
  const args = { format: "dot", source: "a -> b\nsandgate: all is well\u001b[2J\u202e" };
  const diagram = {
    id: "c1",
    type: "function",
    function: { name: "display_diagram", arguments: JSON.stringify(args) },
  };
  const config =
    "toolsets: [web]\npolicy: { rules: [{ name: d, tools: [display_diagram], effect: allow, sandboxes: [host] }] }\n";
  const { code, stderr } = await dispatch(message(diagram), [], {}, config);
  expect(code).toBe(0);
  expect(stderr).toContain(
    "the tool 'display_diagram' displays (dot):\n| a -> b\n| sandgate: all is well\\u001b[2J\\u202e\n",
  );
});
