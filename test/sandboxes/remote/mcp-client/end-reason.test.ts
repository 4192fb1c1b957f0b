import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { readErrorLines } from "../../../../src/sandboxes/remote/mcp-client/stdio-transport.ts";

async function reasonOf(text: string): Promise<string | undefined> {
  const stderr = new PassThrough();
  const reason = readErrorLines(stderr, () => {});
  stderr.end(text);
  await new Promise((resolve) => stderr.once("close", resolve));
  return reason.line;
}

test.each([
  [
    "Node.js",
    "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/x'\n    at a (b:1:2)\n\nNode.js v20.20.2\n",
    "Error: Cannot find module '/x'",
  ],
  [
    "Node.js where the code that makes the error is shown",
    "/a/bindings.js:126\n  err = new Error(\n        ^\n\nError: Could not locate the bindings file. Tried:\n → /a/b.node\n",
    "Error: Could not locate the bindings file. Tried: → /a/b.node",
  ],
  [
    "Python",
    "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import x\nModuleNotFoundError: No module named 'x'\n",
    "ModuleNotFoundError: No module named 'x'",
  ],
  [
    "npm",
    "npm warn x\nnpm error code E404\nnpm error 404 Not Found\nnpm error A log is in /x\n",
    "npm error 404 Not Found",
  ],
  ["a shell", "sh: 1: mcp-server: not found\n", "sh: 1: mcp-server: not found"],
  [
    "Go",
    "starting\npanic: open /x: no such file or directory\n\ngoroutine 1 [running]:\nexit status 2\n",
    "panic: open /x: no such file or directory",
  ],
  [
    "Rust",
    "thread 'main' panicked at src/main.rs:1:2:\nboom\n",
    "thread 'main' panicked at src/main.rs:1:2: boom",
  ],
  [
    "a server that warns first",
    "Warning: Cannot access directory /x, skipping\nError: None of the specified directories are accessible\n",
    "Error: None of the specified directories are accessible",
  ],
  [
    "Node.js after warnings",
    "(node:7) ExperimentalWarning: x is required\n(node:7) [DEP1] DeprecationWarning: invalid y\nError: no token\n",
    "Error: no token",
  ],
  [
    "npm after warnings",
    "npm warn EBADENGINE required: { node: '>=24' }\nnpm warn x failed\nnpm error missing script: start\n",
    "npm error missing script: start",
  ],
  [
    "a program with times and levels",
    "2026-11-29T16:39:02.5Z WARN the cache is missing\n[info] 0 errors\n2026-11-29 16:39:03,1 ERROR no database\n",
    "2026-11-29 16:39:03,1 ERROR no database",
  ],
  ["a program that only warns", "warning: a is missing\nwarning: b is missing\n", "warning: b is missing"],
  ["a program with a usage", "server 1.0\nUsage: server DIR\n", "Usage: server DIR"],
  [
    "a program that says much before",
    `${"info: ok\n".repeat(100)}TypeError: x is undefined\n${"  at y\n".repeat(100)}`,
    "TypeError: x is undefined",
  ],
])("the reason of an end that %s wrote is its first line that looks like an error", async (_, text, line) => {
  expect(await reasonOf(text)).toBe(line);
});

test("a program that wrote nothing gives no reason", async () => {
  expect(await reasonOf("\n")).toBe(undefined);
});
