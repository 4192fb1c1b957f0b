import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { Scene } from "../escapes/scene.ts";
import { unavailable } from "../sandboxes/process/availability.ts";
import { runProgram } from "../sandboxes/process/run-program.ts";

interface Case {
  readonly id: string;
  readonly arg: string;
}

/** Commands of which each process is given this long; many of them wait, or never end. */
const WALL_TIME_MS = 2_000;

const folder = process.env["SANDGATE_CORPORA"] as string;
const cases: readonly Case[] = readFileSync(join(folder, "shell/shell.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));

if (unavailable !== undefined) console.warn(`The corpus shell is skipped: ${unavailable}`);
const sandboxes = await openSandboxes();
const scene = await Scene.open(undefined);
const ended = new Map<string, number>();
afterAll(async () => {
  await sandboxes.close();
  await scene[Symbol.asyncDispose]();
  const counts = Array.from(ended, ([how, count]) => `${count} ${how}`).join(", ");
  console.log(`shell: ${cases.length} arguments, each as a command and inside one: ${counts}`);
});

/** Ways in which a tool gives an argument to a shell, from the worst to the best. */
const WAYS: Readonly<Record<string, readonly (string | { readonly argument: string })[]>> = {
  "as a command": ["-c", { argument: "/arg" }],
  "behind a command": ["-c", 'eval "cat file $1"', "sh", { argument: "/arg" }],
  "as an argument": ["-c", 'cat -- "$1"', "sh", { argument: "/arg" }],
};

describe.skipIf(unavailable)("an argument that breaks out of a command stays in the sandbox", () => {
  test.each(cases)("$id: $arg", async ({ id, arg }) => {
    for (const [way, args] of Object.entries(WAYS)) {
      const { output, error, receipt } = await runProgram(sandboxes, {
        program: {
          command: "/bin/sh",
          args,
          input: "none",
          output: "completion",
          env: { WORK: "/workspace", OUTSIDE: scene.outside },
          killGraceMs: 50,
        },
        arguments: { arg },
        capabilities: { fs: [{ directory: scene.workspace, write: true }] },
        limits: { wallTimeMs: WALL_TIME_MS },
      });
      expect(await scene.escape(JSON.stringify(output)), `${id} ${way}`).toBeUndefined();
      expect(receipt.ended ?? "confirmed").toBe("confirmed");
      // It ran: no argument is refused, whatever characters it has.
      expect(error === undefined || error.code === "timeout", error?.message).toBe(true);
      const how = error?.code ?? "ended by themselves";
      ended.set(how, (ended.get(how) ?? 0) + 1);
    }
  });
});
