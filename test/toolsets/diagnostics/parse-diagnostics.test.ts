import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
// Inside: a property of any output, also of compilers that are not installed here.
import { parseDiagnostics } from "../../../src/toolsets/diagnostics-tools.ts";

/** What a program writes about a file. */
function outputOf(file: string, text: string, command: string, ...args: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "diagnostics-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, file), text);
  const { stdout, stderr, error } = spawnSync(command, args, { cwd: directory, encoding: "utf8" });
  if (error !== undefined) throw error;
  return `${stdout}\n${stderr}`;
}

test("reads what bash and dash say of a script", () => {
  const script = "echo one\nif [ 1\n";
  const bash = parseDiagnostics(outputOf("a b.sh", script, "bash", "-n", "a b.sh"));
  expect(bash.diagnostics).toEqual([
    { path: "a b.sh", line: 3, severity: "error", message: "syntax error: unexpected end of file" },
  ]);
  const dash = parseDiagnostics(outputOf("a.sh", script, "dash", "-n", "a.sh"));
  expect(dash.diagnostics).toMatchObject([{ path: "a.sh", line: 3, severity: "error" }]);
});

test("takes a message of a shell about no file for no diagnostic", () => {
  for (const line of [
    "bash: line 1: tsc: command not found",
    "sh: 1: tsc: not found",
    "/bin/sh: line 3: a: b",
  ])
    expect(parseDiagnostics(line)).toEqual({ diagnostics: [], others: [line] });
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test.skipIf(!hasPython)("reads what Python says of a file that it cannot compile", () => {
  const said = outputOf("a.py", "x = 1\ndef f(:\n  pass\n", "python3", "-m", "py_compile", "a.py");
  expect(parseDiagnostics(said)).toEqual({
    diagnostics: [
      { path: "a.py", line: 2, severity: "error", message: expect.stringMatching(/^SyntaxError: /) },
    ],
    others: [],
  });
});

test.skipIf(!hasPython)("reads the place of an exception from the end of its traceback", () => {
  const said = outputOf("a.py", "def f():\n  return 1 / 0\nf()\n", "python3", "a.py");
  expect(parseDiagnostics(said).diagnostics).toEqual([
    {
      path: expect.stringMatching(/a\.py$/),
      line: 2,
      severity: "error",
      message: "ZeroDivisionError: division by zero",
    },
  ]);
});

test("takes a warning of Python for a warning", () => {
  expect(parseDiagnostics("a.py:3: SyntaxWarning: invalid escape sequence").diagnostics).toEqual([
    { path: "a.py", line: 3, severity: "warning", message: "SyntaxWarning: invalid escape sequence" },
  ]);
});

test("keeps the lines of a place of Python for which no message comes", () => {
  const lines = [
    '  File "a.py", line 2',
    "    x",
    ...Array.from({ length: 10 }, (_, index) => `line ${index}`),
  ];
  expect(parseDiagnostics(lines.join("\n"))).toEqual({ diagnostics: [], others: lines });
});

test("loses no line, whatever is written", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '  File "a.py", line 2',
      "SyntaxError: x",
      "a.c:1:2: error: b",
      "a.sh: line 3: c",
      "(1): x",
    ),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join("\n");
      const { diagnostics, others } = parseDiagnostics(text);
      const written = text.split(/\r?\n/);
      expect(written).toEqual(expect.arrayContaining([...others]));
      for (const { path, line: number } of diagnostics) {
        expect(text).toContain(path);
        expect(Number.isInteger(number)).toBe(true);
      }
    }),
  );
});

test("takes linear time for lines that nearly match", () => {
  const line = `${"a:".repeat(2_000)}1`;
  expect(parseDiagnostics(Array.from({ length: 200 }, () => line).join("\n")).others).toHaveLength(200);
});
