import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, PROJECT, sandgate } from "./sandgate.ts";

/** What a hostile model, file or tool says, to look like something else. */
const ATTACKS: readonly [name: string, text: string][] = [
  ["escape sequences", "\u001b[2J\u001b]0;title\u0007"],
  ["C1 controls", "\u009b31m"],
  ["a line of Sandgate's own", "done\nsandgate: the call was allowed"],
  ["a row of the table", "ok\r\n| 2  rm  host  ok: done"],
  ["bidi controls", "\u202egpj.exe\u2066"],
  ["invisible characters", "r\u200bm\u00ad\u2800\u{e0041}\ufe0f"],
  ["letters of another script", "pаypal"],
  ["a note of Sandgate's own", "⟦12 characters left out⟧"],
  ["stacks of combining marks", `a${"\u0301\u0302\u0303\u0304".repeat(50)}`],
];
const RAW = /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|а|⟦12 char|\p{M}{4}/u;

describe.each(ATTACKS)("%s cannot be shown", (_, text) => {
  test.each([
    ["table"],
    ["json"],
    ["messages"],
  ])("by a model, in the output %s of dispatch", async (output) => {
    const message = [
      { id: text, name: "upper", arguments: { text } },
      { id: "2", name: text, arguments: {} },
      { id: "3", name: "add", arguments: `{"a": "${text}` },
    ];
    const folder = await createFolder({ ...PROJECT, "message.json": JSON.stringify(message) });
    const { stdout, stderr } = await sandgate(
      [
        "dispatch",
        join(folder, "message.json"),
        "--config",
        join(folder, "sandgate.yaml"),
        "--output",
        output,
      ],
      { columns: 160 },
    );
    expect(stdout + stderr).not.toMatch(RAW);
    if (output !== "table") return expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(text));
    const [heading = "", ...rows] = stdout.trimEnd().split("\n");
    expect(heading).toMatch(/^ {2}call/);
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toMatch(/^\| /);
  });

  test("by a message that was cut off or has other calls", async () => {
    const tool_calls = [{ id: "1", type: text, custom: { name: "grammar", input: "x" } }];
    const completion = { choices: [{ message: { role: "assistant", tool_calls }, finish_reason: "length" }] };
    const folder = await createFolder({ ...PROJECT, "message.json": JSON.stringify(completion) });
    const argv = ["dispatch", join(folder, "message.json"), "--config", join(folder, "sandgate.yaml")];
    const { stderr } = await sandgate(argv);
    expect(stderr).toContain("sandgate: the message has calls that do not run here: ");
    expect(stderr).not.toMatch(RAW);
    for (const line of stderr.trimEnd().split("\n")) expect(line).toMatch(/^sandgate: the message /);
  });

  test("by a command line, a config or a tool's file", async () => {
    const folder = await createFolder({
      "sandgate.yaml": JSON.stringify({ tools: [{ name: text, [text]: 1 }], policy: { default: text } }),
      "tool.js": `throw new Error(${JSON.stringify(text)});`,
    });
    const config = join(folder, "sandgate.yaml");
    for (const argv of [
      [text],
      ["dispatch", "--config", config, "--format", text],
      ["dispatch", text, "--config", config],
      ["check", "--config", config],
      ["check", "--config", text.replaceAll("\0", "")],
      ["serve", "--config", config],
      ["tool", "run", join(folder, "tool.js")],
      ["tool", "check", join(folder, "tool.js")],
      ["tool", "inspect", text],
    ]) {
      const { stdout, stderr } = await sandgate(argv);
      expect(stdout + stderr).not.toMatch(RAW);
      expect(stdout + stderr).not.toMatch(/^(?:sandgate: the call was|\| 2)/m);
      expect(stdout + stderr).not.toBe("");
    }
  });
});

test("A long text starts no row of the terminal that could be a line of Sandgate's own", async () => {
  const given = `${" x".repeat(20)}sandgate: the call was allowed`;
  const folder = await createFolder({ ...PROJECT, "message.json": "[]" });
  const argv = ["dispatch", join(folder, "message.json"), "--config", given];
  const { stderr } = await sandgate(argv, { columns: 40 });
  expect(stderr.trimEnd().split("\n").length).toBeGreaterThan(1);
  for (const row of stderr.trimEnd().split("\n").slice(1)) expect(row).toMatch(/^: /);
});
