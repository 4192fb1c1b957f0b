import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createFolder, type Outcome, sandgate } from "../../cli/sandgate.ts";

const text = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");
const [, example = ""] = /```yaml\n(.*?)```/s.exec(text) ?? [];
const [entries = "", programs = "", redaction = ""] = text.split(
  /\n## (?:In editors and scripts\n.*?\n## Programs|Redaction)\n/s,
);

async function check(config: string): Promise<Outcome> {
  const folder = await createFolder({ "sandgate.yaml": config });
  return sandgate(["check", "--config", `${folder}/sandgate.yaml`]);
}

/** The names in the first column of a table. */
const rowsOf = (section: string): string[] =>
  Array.from(section.matchAll(/^\| `(\w+)` \|/gm), ([, name = ""]) => name);

/** The keys that a map accepts, as the message about an unknown one lists them. */
async function keysOf(config: string): Promise<string[]> {
  const { stderr } = await check(config);
  return /unknown key 'zzzzzz': expected one of (.*)$/m.exec(stderr)?.[1]?.split(", ") ?? [];
}

describe("docs/configuration.md", () => {
  test("has an example that checks without a problem", async () => {
    expect(await check(example)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 tool, 0 errors, 0 warnings"),
      stderr: "",
    });
  });

  test("has a row for each entry", async () => {
    expect(rowsOf(entries).sort()).toEqual((await keysOf(`${example}zzzzzz: 1\n`)).sort());
  });

  test("has a row for each member of a program", async () => {
    const tool =
      "tools: [{ name: a, description: A, inputSchema: {}, process: { command: a, zzzzzz: 1 } }]\n";
    expect(rowsOf(programs).sort()).toEqual((await keysOf(tool)).sort());
  });

  test("has a row for each option of redaction", async () => {
    expect(rowsOf(redaction).sort()).toEqual((await keysOf("redaction: { zzzzzz: 1 }\n")).sort());
  });
});
