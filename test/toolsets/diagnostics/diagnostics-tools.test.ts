import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { ISOLATIONS, unavailable } from "../../sandboxes/process/availability.ts";
import { ToolsetScene, withIsolation } from "../toolset-scene.ts";

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

  test.each(
    ISOLATIONS,
  )("fails if its command is not there, rather than to find nothing, with %s", async (isolation) => {
    const options = { command: ["no-such-compiler", "--check"] } as const;
    await using scene = await ToolsetScene.open("diagnostics", {}, options, withIsolation(isolation));
    const { success, error } = await scene.call("get_diagnostics", {});
    expect(success).toBe(false);
    expect(error).toMatchObject({ code: "execution_error" });
    expect(error?.message).toMatch(
      /^The command 'no-such-compiler', which finds diagnostics, could not be run \(exit code 127\): ask the user to install it/,
    );
  });

  test.skipIf(unavailable)("says that a command failed whose output has no diagnostics", async () => {
    const options = { command: ["sh", "-c", "echo 'bad configuration' >&2; exit 2"] } as const;
    await using scene = await ToolsetScene.open("diagnostics", {}, options);
    expect((await scene.call("get_diagnostics", {})).output).toEqual({
      exitCode: 2,
      diagnostics: [],
      otherOutput: "bad configuration",
      note: "The command failed with exit code 2, and wrote no diagnostics that could be read.",
    });
  });

  test.skipIf(unavailable)("says that the middle of a long output is missing", async () => {
    const script =
      "head -c 2000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo 'a.c:1: error: no'; exit 1";
    await using scene = await ToolsetScene.open("diagnostics", {}, { command: ["sh", "-c", script] });
    expect((await scene.call("get_diagnostics", {})).output).toMatchObject({
      diagnostics: [{ path: "a.c", line: 1, severity: "error", message: "no" }],
      note: "The output was too long: diagnostics from its middle are missing.",
    });
  });

  test.skipIf(unavailable)("takes numbers that no file has lines for as other output", async () => {
    await using scene = await ToolsetScene.open("diagnostics", {}, { command: ["sh", "check.sh"] });
    const odd = [`a.c:${"9".repeat(400)}: error: x`, `a.ts(1,${"9".repeat(400)}): error: x`];
    const lines = [...odd, "b.c:1:2: error: y"];
    writeFileSync(join(scene.workspace, "check.sh"), `cat <<'END'\n${lines.join("\n")}\nEND\n`);
    const { output } = await scene.call("get_diagnostics", {});
    expect(output).toMatchObject({
      diagnostics: [{ path: "b.c", line: 1, column: 2 }],
      otherOutput: odd.join("\n"),
    });
  });

  test("needs one source of diagnostics", () => {
    expect(() => toolsOf("diagnostics", {})).toThrow(
      "The toolset 'diagnostics' needs either a command or a function find",
    );
  });
});
