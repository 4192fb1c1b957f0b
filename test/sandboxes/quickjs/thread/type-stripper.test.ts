import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { stripProgramTypes } from "../../../../src/sandboxes/quickjs/thread/type-stripper.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

async function prepare(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-types-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const quickjs = { file: join(folder, Object.keys(files)[0] ?? "") };
  return sandboxes.prepare({ quickjs }).then(
    () => "prepared",
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

const NESTED = `const n: number = ${"(".repeat(3_000)}1${")".repeat(3_000)};\nexport default () => n;`;
const GOOD = "export default (n: number): number => n;";

describe("TypeScript that crashes the parser", () => {
  test("TypeScript that crashes the parser does not affect later TypeScript tools", async () => {
    expect(await prepare({ "nested.ts": NESTED })).toBe(
      "ToolPreparationError: nested.ts: the TypeScript parser crashed: the code may be nested too deeply",
    );
    expect(await prepare({ "good.ts": GOOD })).toBe("prepared");
  });

  test("TypeScript that crashes the parser in an imported module does not affect other tools", async () => {
    const importing = { "tool.ts": 'import { n } from "./n.ts"; export default () => n;', "n.ts": NESTED };
    const results = await Promise.all([
      prepare(importing),
      prepare({ "a.ts": GOOD }),
      prepare({ "nested.ts": NESTED }),
      prepare({ "b.ts": GOOD }),
    ]);
    expect(results).toEqual([
      expect.stringContaining("n.ts: the TypeScript parser crashed"),
      "prepared",
      expect.stringContaining("nested.ts: the TypeScript parser crashed"),
      "prepared",
    ]);
  });
});

test("Node's warning that type stripping is experimental does not reach stderr", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  await prepare({ "good.ts": GOOD });
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});

test("a runtime that cannot remove types runs JavaScript, and says so about TypeScript", () => {
  const module = process.getBuiltinModule("node:module") as Partial<typeof import("node:module")>;
  const { stripTypeScriptTypes } = module;
  delete module.stripTypeScriptTypes;
  try {
    const program = (name: string): Parameters<typeof stripProgramTypes>[0] => ({
      entry: name,
      sources: { [name]: "export default () => 1" },
      exportName: "default",
    });
    expect(stripProgramTypes(program("tool.js"))).toEqual(program("tool.js"));
    expect(() => stripProgramTypes(program("tool.ts"))).toThrow(
      "tool.ts: this runtime cannot remove types: run it on Node.js, or write JavaScript",
    );
  } finally {
    Object.assign(module, { stripTypeScriptTypes });
  }
});
