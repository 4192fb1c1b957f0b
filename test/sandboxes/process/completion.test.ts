import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ProgramCompletion } from "../../../src/tool/implementations/process-implementation.ts";
import { unavailable } from "./availability.ts";
import { type ProgramCall, runProgram } from "./run-program.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

const complete = (script: string, more: Partial<ProgramCall> = {}, failOnExit?: boolean) =>
  runProgram(sandboxes, {
    program: {
      command: "sh",
      args: ["-c", script],
      input: "none",
      output: "completion",
      ...(failOnExit !== undefined && { failOnExit }),
    },
    ...more,
  });

describe.skipIf(unavailable)("The completion of a program", () => {
  test("has its exit code and what it wrote, and is a success whatever the code is", async () => {
    expect((await complete("echo out; echo err >&2; exit 3")).output).toEqual({
      exitCode: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      truncated: false,
    });
    expect((await complete("exit 0")).output).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
    expect((await complete("exit 200")).output).toMatchObject({ exitCode: 200, signal: null });
  });

  test("names the signal that ended it", async () => {
    expect((await complete("kill -9 $$")).output).toMatchObject({ exitCode: 137, signal: "SIGKILL" });
    expect((await complete("kill -TERM $$")).output).toMatchObject({ exitCode: 143, signal: "SIGTERM" });
  });

  test("fails the call for another exit code than 0 if the tool says so", async () => {
    const { error } = await complete("echo out; echo cannot open >&2; exit 3", {}, true);
    expect(error).toMatchObject({ code: "execution_error", message: "cannot open" });
    expect((await complete("echo out", {}, true)).output).toMatchObject({ stdout: "out\n" });
  });

  test("has the beginning and the end of long outputs, of which the middle is left out", async () => {
    const { output } = await complete(
      "echo first; seq 1000000; echo last; { echo first; seq 1000000; echo last; } >&2",
    );
    const { stdout, stderr, truncated } = output as unknown as ProgramCompletion;
    expect(truncated).toBe(true);
    for (const text of [stdout, stderr]) {
      expect(text).toMatch(/^first\n1\n2\n[\s\S]*\n\[… 6,\d{3},\d{3} bytes left out …\]\n[\s\S]*\nlast\n$/);
      expect(Buffer.byteLength(text)).toBeGreaterThan(400_000);
    }
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(2 ** 20);
  });

  test("keeps within the output limit, also with characters that are long as JSON", async () => {
    for (const script of ["seq 100000", "head -c 100000 /dev/zero; echo err >&2"]) {
      const { output, error } = await complete(script, { limits: { outputBytes: 10_000 } });
      expect(error).toBeUndefined();
      expect(output).toMatchObject({ truncated: true });
      expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(10_000);
      expect(Buffer.byteLength(JSON.stringify(output))).toBeGreaterThan(5_000);
    }
  });

  test("is streamed as it comes", async () => {
    const cancelling = new AbortController();
    const chunks: string[] = [];
    const onOutput = (chunk: string): void => {
      chunks.push(chunk);
      if (chunks.join("").includes("two")) cancelling.abort();
    };
    // The second line comes from a program that goes on until it is cancelled.
    const script = "echo one; sleep 0.1; echo two >&2; while :; do sleep 1; done";
    const { error, partialOutput } = await complete(script, { signal: cancelling.signal, onOutput });
    expect(error?.code).toBe("cancelled");
    expect(chunks.join("")).toMatch(/^one\ntwo\n/);
    expect(partialOutput).toMatch(/^one\ntwo\n/);
  });

  test("is in the result of a call that timed out, with the end of a long output", async () => {
    const chunks: string[] = [];
    const { error, partialOutput } = await complete(
      "echo first; seq 200000; echo last; while :; do sleep 1; done",
      { limits: { wallTimeMs: 5_000 }, onOutput: (chunk) => chunks.push(chunk) },
    );
    expect(error?.code).toBe("timeout");
    expect(partialOutput).toMatch(/^first\n1\n[\s\S]*\d\nlast\n/);
    expect(Buffer.byteLength(chunks.join(""))).toBeLessThanOrEqual(2 ** 20 + 64);
    expect(chunks.join("")).toMatch(/\n\[… \d{3},\d{3} bytes left out …\]\n[\s\S]*last\n/);
  });

  test("keeps of a flood on both pipes what it may, while other work of the process goes on", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    const { output } = await complete(
      "yes out | head -c 100000000; yes err | head -c 100000000 >&2; echo end",
    );
    clearInterval(timer);
    const { stdout, stderr, truncated } = output as unknown as ProgramCompletion;
    expect(truncated).toBe(true);
    expect(stdout).toMatch(/^out\nout\n[\s\S]*\[… 9\d,\d{3},\d{3} bytes left out …\]\n[\s\S]*out\nend\n$/);
    expect(stderr).toMatch(/^err\nerr\n/);
    expect(turns).toBeGreaterThan(5);
  });

  test("has no half character where it is cut, and U+FFFD for bytes that are none", async () => {
    const euros = "i=0; while [ $i -lt 200 ]; do printf '€'; i=$((i+1)); done";
    for (const outputBytes of [700, 701, 702, 703]) {
      const { output } = await complete(euros, { limits: { outputBytes } });
      expect((output as { stdout: string }).stdout).toMatch(/^€+\n\[… \d+ bytes left out …\]\n€+$/);
    }
    expect((await complete("printf '\\342\\202'")).output).toMatchObject({ stdout: "\ufffd" });
    expect((await complete("printf '\\342'; sleep 0.1; printf '\\202\\254'")).output).toMatchObject({
      stdout: "€",
    });
  });
});
