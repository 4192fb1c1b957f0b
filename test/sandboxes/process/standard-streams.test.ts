import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type {
  ProcessImplementation,
  ProgramCompletion,
} from "../../../src/tool/implementations/process-implementation.ts";
import { ISOLATIONS } from "./availability.ts";
import { type ProgramCall, runProgram } from "./run-program.ts";

describe.each(ISOLATIONS)("The standard streams of a program (%s)", (isolation) => {
  let sandboxes: Sandboxes;
  let folder: string;

  beforeAll(async () => {
    sandboxes = await openSandboxes({ process: { isolation } });
    folder = realpathSync(mkdtempSync(join(tmpdir(), "standard-streams-")));
  });

  afterAll(async () => {
    await sandboxes.close();
    rmSync(folder, { recursive: true });
  });

  interface Case extends Omit<ProgramCall, "program"> {
    readonly program?: Partial<ProcessImplementation>;
  }

  const complete = async (script: string, { program, ...more }: Case = {}): Promise<ProgramCompletion> => {
    const { output, error } = await runProgram(sandboxes, {
      program: {
        command: "bash",
        args: ["-c", script],
        input: "none",
        output: "completion",
        ...program,
      } as ProcessImplementation,
      ...more,
    });
    if (error !== undefined) throw new Error(error.message);
    return output as unknown as ProgramCompletion;
  };

  test.each([
    ["echo x >/dev/stderr", { stderr: "x\n" }],
    ["echo x >/dev/fd/2", { stderr: "x\n" }],
    ["echo x >>/dev/stdout; echo y >>/dev/stdout", { stdout: "x\ny\n" }],
    ["echo x | tee /dev/stderr", { stdout: "x\n", stderr: "x\n" }],
    ["echo x | tee -a /dev/stderr >/dev/stdout", { stdout: "x\n", stderr: "x\n" }],
    ["exec 3>/dev/stdout; echo x >&3", { stdout: "x\n" }],
    ["exec 3>&1; echo x >/proc/self/fd/3", { stdout: "x\n" }],
    [
      `python3 -c 'open("/dev/stdout", "w").write("x\\n"); open("/dev/stderr", "w").write("y\\n")'`,
      { stdout: "x\n", stderr: "y\n" },
    ],
    [`perl -e 'open(my $f, ">", "/dev/stdout") or die $!; print $f "x\\n"'`, { stdout: "x\n" }],
    ['awk \'BEGIN { print "x" > "/dev/stderr" }\'', { stderr: "x\n" }],
    [
      "cp /dev/null /dev/stdout; dd if=/dev/zero of=/dev/stdout bs=1 count=3 status=none | wc -c",
      { stdout: "3\n" },
    ],
    ["sh -c 'echo x >/dev/stderr' | cat", { stderr: "x\n" }],
    ["cat /dev/stdin; cat </dev/stdin; cat -; cat /dev/fd/0", { stdout: "" }],
    ["echo piped | cat /dev/stdin", { stdout: "piped\n" }],
    ["cat /dev/stdin <<<here", { stdout: "here\n" }],
  ] as const)("can be opened by their names: %s", async (script, written) => {
    expect(await complete(script)).toEqual({
      exitCode: 0,
      signal: null,
      stdout: "",
      stderr: "",
      truncated: false,
      ...written,
    });
  });

  test("are pipes, and no sockets", async () => {
    const kind = (fd: number): string =>
      `[ -p /dev/fd/${fd} ] && echo ${fd} pipe; [ -S /dev/fd/${fd} ] && echo ${fd} socket;`;
    expect((await complete(`${kind(0)} ${kind(1)} ${kind(2)}`)).stdout).toBe("1 pipe\n2 pipe\n");
  });

  test("begin with /dev/null, if the tool gives no input", async () => {
    expect((await complete('[ -c /dev/stdin ] && stat -L -c "%t:%T" /dev/stdin')).stdout).toBe("1:3\n");
  });

  test("give the input of the call, which can be opened again", async () => {
    const text = "line\n".repeat(50_000);
    const given = {
      program: { input: { argument: "/text" } },
      arguments: { text } as JsonObject,
    };
    expect((await complete("wc -l", given)).stdout).toBe("50000\n");
    expect((await complete("wc -l </dev/stdin", given)).stdout).toBe("50000\n");
    expect((await complete("cat /dev/stdin | tail -n 1", given)).stdout).toBe("line\n");
    expect((await complete("read -r a; read -r b; echo $a $b; exec cat >/dev/null", given)).stdout).toBe(
      "line line\n",
    );
    expect((await complete("exit 3", given)).exitCode).toBe(3);
  });

  test("do not make bash read what it reads for a remote shell", async () => {
    writeFileSync(join(folder, ".bashrc"), "echo read .bashrc\n");
    const granted = {
      capabilities: { fs: [{ directory: folder, at: folder }] },
      program: { env: { HOME: folder } },
    };
    expect((await complete("echo $HOME", granted)).stdout).toBe(`${folder}\n`);
  });

  test("have no terminal, and nothing else is the program's terminal", async () => {
    expect(
      (
        await complete(
          "tty; test -t 0 -o -t 1 -o -t 2 || echo none; (: </dev/tty) 2>/dev/null || echo no tty",
        )
      ).stdout,
    ).toBe("not a tty\nnone\nno tty\n");
    expect((await complete("cut -d ' ' -f 7 /proc/self/stat 2>/dev/null || echo 0")).stdout).toBe("0\n");
  });

  test("keep the order of what is written to both by way of one of them", async () => {
    const lines = Array.from({ length: 200 }, (_, index) => `${index}`);
    const { stdout } = await complete(
      `exec 2>&1; for ((i = 0; i < 200; i += 2)); do echo $i; echo $((i + 1)) >&2; done`,
    );
    expect(stdout).toBe(`${lines.join("\n")}\n`);
  });

  test("end a program that writes to a pipe nobody reads, as pipes do", async () => {
    const { stdout } = await complete(
      `yes | head -n 1; echo "\${PIPESTATUS[@]}"; exec 3> >(exec true); sleep 0.2; (echo x; echo y) >&3; echo $?`,
    );
    expect(stdout).toMatch(/^y\n141 0\n(141|1)\n$/);
  });

  test("take outputs of any length, however slowly they are read", async () => {
    const { stdout, stderr, truncated } = await complete("seq 400000; seq 400000 >&2");
    expect(truncated).toBe(true);
    for (const text of [stdout, stderr]) expect(text).toMatch(/^1\n2\n[\s\S]*\n400000\n$/);
    const whole = await complete(
      "head -c 300000 /dev/zero | tr '\\0' x; head -c 150000 /dev/zero | tr '\\0' y >&2",
    );
    expect([whole.stdout, whole.stderr]).toEqual(["x".repeat(300_000), "y".repeat(150_000)]);
  });

  test("do not keep a call waiting for what a program left in the background", async () => {
    expect((await complete("sleep 1000 & (sleep 1000 >/dev/stderr &) ; echo left")).stdout).toBe("left\n");
  });

  test("have what was written before a deadline", async () => {
    const { error, partialOutput } = await runProgram(sandboxes, {
      program: {
        command: "bash",
        args: ["-c", "echo begun; echo more >/dev/stderr; while :; do :; done"],
        input: "none",
        output: "completion",
        killGraceMs: 0,
      },
      // Long enough for a launcher in Node.js to start on a busy machine.
      limits: { wallTimeMs: 5_000 },
      onOutput: () => {},
    });
    expect(error?.code).toBe("timeout");
    expect(partialOutput).toContain("begun\n");
    expect(partialOutput).toContain("more\n");
  });

  test("are the call's own, in many calls at once", async () => {
    const all = Array.from({ length: 12 }, (_, index) =>
      complete(`cat; sleep 0.1; echo ${index} | tee /dev/stderr`),
    );
    for (const [index, { stdout, stderr }] of (await Promise.all(all)).entries())
      expect([stdout, stderr]).toEqual([`${index}\n`, `${index}\n`]);
  });
});
