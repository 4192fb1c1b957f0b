import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { ToolsetScene } from "../toolset-scene.ts";

describe("get_diagnostics", () => {
  test("returns what the embedder's function finds in given files", async () => {
    const diagnostic = { path: "a.ts", line: 1, column: 2, severity: "error", message: "no" } as const;
    await using scene = await ToolsetScene.open(
      "diagnostics",
      {},
      {
        find: (paths) => paths.map((path) => ({ ...diagnostic, path })),
      },
    );
    expect((await scene.call("get_diagnostics", { paths: ["b.ts"] })).output).toEqual({
      diagnostics: [{ ...diagnostic, path: "b.ts" }],
    });
  });

  test.skipIf(unavailable)("reads what a compiler writes, with the places", async () => {
    await using scene = await ToolsetScene.open("diagnostics", {}, { command: ["sh", "check.sh"] });
    const lines = [
      "src/a.ts(3,14): error TS2322: Type 'x' is not assignable.",
      "./src/b.c:7:1: warning: unused variable",
      "src/c.py:9: undefined name",
      "Found 3 problems.",
    ];
    writeFileSync(join(scene.workspace, "check.sh"), `cat <<'END'\n${lines.join("\n")}\nEND\nexit 2\n`);
    const { output } = await scene.call("get_diagnostics", {});
    expect(output).toEqual({
      exitCode: 2,
      diagnostics: [
        {
          path: "src/a.ts",
          line: 3,
          column: 14,
          severity: "error",
          message: "TS2322: Type 'x' is not assignable.",
        },
        { path: "./src/b.c", line: 7, column: 1, severity: "warning", message: "unused variable" },
        { path: "src/c.py", line: 9, severity: "error", message: "undefined name" },
      ],
      otherOutput: "Found 3 problems.",
    });
    expect((await scene.call("get_diagnostics", { paths: ["src/b.c"] })).output).toMatchObject({
      diagnostics: [{ path: "./src/b.c" }],
    });
  });

  test("needs one source of diagnostics", () => {
    expect(() => toolsOf("diagnostics", {})).toThrow(
      "The toolset 'diagnostics' needs either a command or a function find",
    );
  });
});
