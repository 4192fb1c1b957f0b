import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SANDBOX_MODES } from "../../../src/tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../../src/tool/side-effects.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";
import { blocksOf, printedBy, saidOutput } from "../snippets.ts";

const text = readFileSync("docs/tools.md", "utf8");

describe("docs/tools.md", () => {
  test("describes the classes of side effects from the mildest to the worst", () => {
    const [, table = ""] = text.split("| class | the tool |\n");
    const rows = (table.split("\n\n")[0] ?? "").split("\n").slice(1);
    expect(rows.map((row) => /^\| `(\w+)` \|/.exec(row)?.[1])).toEqual(SIDE_EFFECTS);
  });

  test("has an implementation for each sandbox", () => {
    const modes = Array.from(text.matchAll(/^\| `(\w+): /gm), ([, mode]) => mode);
    expect(new Set(modes)).toEqual(new Set(SANDBOX_MODES));
  });

  test("has a program that wraps tools, and prints what it says", async () => {
    const [program = ""] = blocksOf("docs/tools.md", "ts");
    expect(await printedBy(program)).toEqual(saidOutput(program));
    expect(saidOutput(program)).toEqual(["weather"]);
  });

  test("has a sandgate.yaml that checks without a problem", async () => {
    const [config = ""] = blocksOf("docs/tools.md", "yaml");
    const folder = await createFolder({ "sandgate.yaml": config });
    expect(await sandgate(["check", "--config", `${folder}/sandgate.yaml`])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 tool, 0 errors, 0 warnings"),
    });
  });
});

test("docs/sandboxes.md has a column for each sandbox", () => {
  const [header = ""] = /^\| \|.*`host` function.*$/m.exec(readFileSync("docs/sandboxes.md", "utf8")) ?? [];
  const modes = Array.from(header.matchAll(/`(\w+)`/g), ([, mode]) => mode);
  expect(new Set(modes)).toEqual(new Set(SANDBOX_MODES));
});
