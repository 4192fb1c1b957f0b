import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import type {
  ConfinedProgram,
  ConfinedProgramOptions,
} from "../../../../src/sandboxes/process/long-running/running-program.ts";
import { ISOLATIONS } from "../availability.ts";

const directory = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-confined-")));
writeFileSync(join(directory, "seen.txt"), "seen");
afterAll(() => rmSync(directory, { recursive: true }));

/** Reads until a text has come. */
async function until(stream: Readable, expected: string): Promise<string> {
  let read = "";
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    read += String(chunk);
    if (read.includes(expected)) return read;
  }
  return read;
}

describe.each(ISOLATIONS)("A program that stays, confined with %s,", (isolation) => {
  async function start(options: Partial<ConfinedProgramOptions> & { readonly script: string }) {
    const sandboxes = await openSandboxes({ process: { isolation } });
    const { script, ...others } = options;
    const program = await sandboxes.startConfinedProgram({ command: "sh", args: ["-c", script], ...others });
    return { sandboxes, program };
  }
  const drop = (program: ConfinedProgram): void => {
    program.stdout.resume();
    program.stderr.resume();
    program.channel?.resume();
  };

  test("is spoken to over its standard streams, and ends with its code", async () => {
    const { sandboxes, program } = await start({
      script: "while read -r line; do echo got $line; done; echo last >&2; exit 7",
    });
    program.stdin.write("one\n");
    expect(await until(program.stdout, "\n")).toBe("got one\n");
    program.stdin.write("two\n");
    expect(await until(program.stdout, "\n")).toBe("got two\n");
    program.stdin.end();
    program.stdout.resume();
    expect(await text(program.stderr)).toBe("last\n");
    expect(await program.ended).toEqual({ code: 7, hasBegun: true, ended: "confirmed" });
    await sandboxes.close();
  });

  test("sees the variables, directories and working directory that it was given, and no others", async () => {
    process.env["SANDGATE_TEST_SECRET"] = "not passed on";
    const { sandboxes, program } = await start({
      script: "cat seen.txt; echo; echo $GIVEN; env; touch new 2>&1 || true; ls /root /home /work 2>&1",
      env: { GIVEN: "it's\na value" },
      fs: [{ directory, at: directory }],
    });
    program.stderr.resume();
    const seen = await text(program.stdout);
    expect(seen).toMatch(/^seen\nit's a value\n/);
    expect(seen).toContain("GIVEN=it's\na value");
    expect(seen).not.toContain("not passed on");
    expect(seen).toMatch(/Read-only file system|Permission denied/);
    expect(seen).not.toContain(".bashrc");
    await sandboxes.close();
    delete process.env["SANDGATE_TEST_SECRET"];
  });

  test("has a socket as descriptor 3 if it asks for one, and no other descriptor", async () => {
    const { sandboxes, program } = await start({
      script:
        'read -r line <&3; echo back $line >&3; for fd in 3 4 5 6 7 8 9; do (eval ": >&$fd") 2>/dev/null && echo $fd; done',
      channel: true,
    });
    program.stderr.resume();
    program.channel?.write("hello\n");
    expect(await until(program.channel as Readable, "\n")).toBe("back hello\n");
    program.channel?.resume();
    expect(await text(program.stdout)).toBe("3\n");
    expect(await program.ended).toMatchObject({ hasBegun: true, ended: "confirmed" });
    await sandboxes.close();
  });

  test("reports the signal that ended it as 128 and its number", async () => {
    const { sandboxes, program } = await start({ script: "kill -9 $$" });
    drop(program);
    expect((await program.ended).code).toBe(137);
    await sandboxes.close();
  });

  test("gets SIGTERM when it is stopped, and is killed if it does not end then", async () => {
    const { sandboxes, program } = await start({
      script: "trap 'echo asked' TERM; echo ready; while :; do sleep 0.1; done",
    });
    program.stderr.resume();
    await until(program.stdout, "ready");
    const stopping = program.stop(500);
    expect(await until(program.stdout, "asked")).toContain("asked");
    program.stdout.resume();
    expect(await stopping).toMatchObject({ hasBegun: true, ended: "confirmed" });
    await sandboxes.close();
  });

  test("ends with the sandboxes, and none starts after that", async () => {
    const { sandboxes, program } = await start({ script: "sleep 1000000" });
    drop(program);
    await sandboxes.close();
    expect(await program.ended).toMatchObject({ ended: "confirmed" });
    await expect(sandboxes.startConfinedProgram({ command: "true" })).rejects.toThrow("closed");
  });

  test("says that it did not begin where its directory does not exist", async () => {
    const { sandboxes, program } = await start({ script: ":", fs: [{ directory }], cwd: "absent" });
    drop(program);
    expect(await program.ended).toMatchObject({
      hasBegun: false,
      problem: "its working directory does not exist",
    });
    await sandboxes.close();
  });

  test("is refused with options that no program can have", async () => {
    const { sandboxes, program } = await start({ script: ":" });
    drop(program);
    const refused = (options: Partial<ConfinedProgramOptions>) =>
      expect(sandboxes.startConfinedProgram({ command: "true", ...options })).rejects;
    await refused({ args: ["a\0b"] }).toThrow(TypeError);
    await refused({ command: "" }).toThrow(TypeError);
    await refused({ env: { "A=B": "" } }).toThrow("'A=B' is not the name of a variable");
    await refused({ args: ["x".repeat(200_000)] }).toThrow("120 KiB");
    await refused({ fs: [{ directory: "/absent/directory" }] }).toThrow("/absent/directory");
    if (isolation === "landlock") await refused({ net: ["https://example.com"] }).toThrow("namespaces");
    await sandboxes.close();
  });
});
