import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ProcessImplementation } from "../../../src/tool/implementations/process-implementation.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { landlockUnavailable, unavailable } from "./availability.ts";
import { type ProgramCall, runProgram } from "./run-program.ts";

const sandboxes = await openSandboxes();
const folder = realpathSync(mkdtempSync(join(tmpdir(), "process-programs-")));
mkdirSync(join(folder, "src/deep"), { recursive: true });
mkdirSync(join(folder, "-src"));
symlinkSync("/usr", join(folder, "out"));
symlinkSync("src", join(folder, "in"));
afterAll(async () => {
  await sandboxes.close();
  rmSync(folder, { recursive: true });
});

const run = (call: ProgramCall) => runProgram(sandboxes, call);
const capabilities = { fs: [{ directory: folder }] };

/** Prints its arguments, each with a bar after it. */
const PRINT = { command: "/usr/bin/printf", output: "text" } as const;

describe.skipIf(unavailable)("The arguments of a program", () => {
  const args = ["%s|", "first", { argument: "/a" }, { argument: "/b/0" }, "last"];

  test.each([
    [{ a: "x y" }, "first|x y|last|"],
    [{ a: 1.5, b: [true] }, "first|1.5|true|last|"],
    [{ a: ["x", "", "$(id)"] }, "first|x||$(id)|last|"],
    [{ a: [] }, "first|last|"],
    [{ a: null }, "first|last|"],
    [{ a: "-n", b: ["'"] }, "first|-n|'|last|"],
  ])("can be those of the call: %j", async (given, printed) => {
    const { output } = await run({ program: { ...PRINT, args, input: "none" }, arguments: given });
    expect(output).toBe(printed);
  });

  test("reach it as they are, whatever bytes they have", async () => {
    const control = Array.from({ length: 0x17f }, (_, code) => String.fromCharCode(code + 1)).join("");
    const texts = [control, "\u{10ffff}\u0800 \t", "\n", "\n\n", "a\\nb\\", "''\"$1\"$0", " x ", ""];
    const { output } = await run({
      program: { ...PRINT, args: ["%s\n|", { argument: "/a" }], env: { TEXT: control }, input: "none" },
      arguments: { a: texts },
    });
    expect(output).toBe(`${texts.join("\n|")}\n|`);
  });

  test.each([
    [{ a: {} }, "The argument /a must be a text, a number, true or false"],
    [{ a: [1] }, "The argument /a must be a text, a number, true or false"],
    [{ a: "x\0y" }, "The argument /a has a NUL character or half a surrogate pair: remove it"],
    [{ a: "x".repeat(130_000) }, "The arguments of the program are longer than 120 KiB: pass on less"],
  ])("fail the call if a program cannot get them", async (given, message) => {
    const { error } = await run({ program: { ...PRINT, args, input: "none" }, arguments: given });
    expect(error).toEqual({ code: "validation_error", message, effect: "none", userVisible: true });
  });

  test("can be what a function returns for those of the call", async () => {
    const program: ProcessImplementation<{ readonly words: readonly string[] }> = {
      ...PRINT,
      args: ({ words }) => ["%s|", ...words.toReversed()],
    };
    expect((await run({ program, arguments: { words: ["a", "b"] } })).output).toBe("b|a|");
  });

  test("can be what a function returns for the embedder's own data", async () => {
    const program: ProcessImplementation = { ...PRINT, args: (_, { embedder }) => ["%s", String(embedder)] };
    expect((await run({ program, embedder: "acme" })).output).toBe("acme");
  });

  test.each<[() => unknown, string, string]>([
    [
      () => {
        throw new ToolFailure("validation_error", "name a file");
      },
      "validation_error",
      "name a file",
    ],
    [() => ["a\0b"], "execution_error", "process.args returned no list of strings without NUL"],
    [() => "text", "execution_error", "process.args returned no list of strings without NUL"],
  ])("fail the call if the function fails", async (args, code, message) => {
    const { error } = await run({ program: { ...PRINT, args: args as () => readonly string[] } });
    expect(error).toMatchObject({ code, message, effect: "none" });
  });
});

describe.skipIf(unavailable)("A program", () => {
  test("reads an argument, or what a function returns, from its standard input", async () => {
    const text = `line 1\n${"é".repeat(200_000)}\0 end`;
    for (const input of [{ argument: "/text" }, (given: { readonly text: string }) => given.text]) {
      const { output, error } = await run({
        program: { command: "cat", input, output: "text" },
        arguments: { text },
      });
      expect(error).toBeUndefined();
      expect(output === text).toBe(true);
    }
    const nothing = await run({ program: { command: "cat", input: { argument: "/text" }, output: "text" } });
    expect(nothing.output).toBe("");
  });

  test("has the variables of its tool in place of granted ones, and none of them is expanded", async () => {
    process.env["PROGRAM_TEST_A"] = "granted";
    process.env["PROGRAM_TEST_B"] = "granted";
    const { output } = await run({
      program: {
        command: "sh",
        args: ["-c", 'printf "%s|" "$PROGRAM_TEST_A" "$PROGRAM_TEST_B" "$LONG" "$HOME"'],
        env: { PROGRAM_TEST_A: "$HOME 'own'\n", LONG: "x".repeat(1_000), HOME: "/tmp/home" },
        output: "text",
      },
      capabilities: { env: ["PROGRAM_TEST_A", "PROGRAM_TEST_B"] },
    });
    expect(output).toBe(`$HOME 'own'\n|granted|${"x".repeat(1_000)}|/tmp/home|`);
  });

  test.each([
    ["src", "/workspace/src"],
    ["src/../src/deep", "/workspace/src/deep"],
    ["in", "/workspace/src"],
    ["-src", "/workspace/-src"],
    [".", "/workspace"],
    ["/workspace/src", "/workspace/src"],
  ])("begins in the directory '%s' below the first granted one", async (cwd, seen) => {
    const program = { command: "pwd", input: "none", output: "text" } as const;
    expect((await run({ program: { ...program, cwd }, capabilities })).output).toBe(`${seen}\n`);
    const named = { ...program, cwd: { argument: "/cwd" } };
    expect((await run({ program: named, arguments: { cwd }, capabilities })).output).toBe(`${seen}\n`);
    expect((await run({ program: named, capabilities })).output).toBe("/workspace\n");
  });

  test.each([
    "..",
    "out",
    "/usr",
    "src/../../usr",
    "/workspace/../tmp",
    "out/lib",
  ])("does not begin in '%s', which leads out", async (cwd) => {
    const program = { command: "pwd", cwd: { argument: "/cwd" }, output: "text" } as const;
    const { error } = await run({ program, arguments: { cwd }, capabilities });
    expect(error).toMatchObject({
      code: "permission_denied",
      message: "Path escapes workspace boundary",
      effect: "none",
    });
  });

  test("does not begin in a directory that is missing", async () => {
    const program = { command: "pwd", cwd: "none", output: "text" } as const;
    expect((await run({ program, capabilities })).error).toMatchObject({
      code: "execution_error",
      message: "There is no directory 'none'",
      effect: "none",
    });
  });
});

describe.skipIf(landlockUnavailable)("A program on Landlock", () => {
  test("gets its arguments, variables and directory, and does not begin outside", async () => {
    await using landlock = await openSandboxes({ process: { isolation: "landlock" } });
    const at = (cwd: string) =>
      runProgram(landlock, {
        program: {
          command: "sh",
          args: ["-c", 'pwd; echo "$A $1"', "sh", { argument: "/a" }],
          env: { A: "own" },
          cwd: { argument: "/cwd" },
          input: "none",
          output: "completion",
        },
        arguments: { a: "given", cwd },
        capabilities,
      });
    for (const cwd of ["src", "in", "src/../src", join(folder, "src")])
      expect((await at(cwd)).output).toMatchObject({ exitCode: 0, stdout: `${folder}/src\nown given\n` });
    for (const cwd of ["..", "out", "/usr"])
      expect((await at(cwd)).error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect((await at("none")).error?.message).toBe("There is no directory 'none'");
  });
});
