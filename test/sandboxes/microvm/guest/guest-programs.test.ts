import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  REFRESH_PROGRAM,
  START_MESSAGE_BYTES,
  START_PROGRAM,
} from "../../../../src/sandboxes/microvm/guest/guest-programs.ts";

const isHere = process.platform === "linux" && process.arch === "x64" && process.getuid?.() === 0;
if (!isHere)
  console.warn("The tests of the machine's own programs are skipped: they need root on Linux on x86-64");

const directory = mkdtempSync(join(tmpdir(), "guest-programs-"));
const programs = { refresh: join(directory, "refresh"), start: join(directory, "start") };
writeFileSync(programs.refresh, REFRESH_PROGRAM, { mode: 0o755 });
writeFileSync(programs.start, START_PROGRAM, { mode: 0o755 });
afterAll(() => rmSync(directory, { recursive: true }));

test.skipIf(!isHere)(
  "the program that starts others drops privileges, and passes on arguments and variables",
  () => {
    const script = 'grep -E "^(Uid|Groups|NoNewPrivs|CapEff)" /proc/self/status; echo "$1 $A"';
    const { stdout } = spawnSync(programs.start, ["/bin/sh", "-c", script, "sh", "one argument"], {
      env: { A: "value" },
      encoding: "utf8",
    });
    expect(stdout.replace(/[ \t]+/g, " ")).toBe(
      "Uid: 1000 1000 1000 1000\nGroups: \nCapEff: 0000000000000000\nNoNewPrivs: 1\none argument value\n",
    );
    expect(spawnSync(programs.start, ["/absent"]).status).toBe(126);
  },
);

test.skipIf(!isHere)(
  "the program that refreshes a machine exits with 1 at the end of a short message",
  () => {
    for (const length of [0, 1, START_MESSAGE_BYTES - 1])
      expect(spawnSync(programs.refresh, { input: Buffer.alloc(length) }).status).toBe(1);
  },
);

test.skipIf(!isHere)("the program that refreshes a machine exits with 1 if it cannot set the clock", () => {
  const message = Buffer.alloc(START_MESSAGE_BYTES);
  // There are fewer nanoseconds in a second.
  message.writeBigInt64LE(2_000_000_000n, 8);
  expect(spawnSync(programs.refresh, { input: message }).status).toBe(1);
});
