import { expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ProgramCompletion } from "../../../src/tool/implementations/process-implementation.ts";
import { ISOLATIONS } from "./availability.ts";
import { runProgram } from "./run-program.ts";

test.each(ISOLATIONS)("a program that cannot be executed exits as in a shell, with %s", async (isolation) => {
  await using sandboxes = await openSandboxes({ process: { isolation } });
  for (const [command, exitCode] of [
    ["no-such-program", 127],
    ["/usr/no/such/program", 127],
    ["/usr/lib", 126],
  ] as const) {
    const program = { command, input: "none", output: "completion" } as const;
    const { output } = await runProgram(sandboxes, { program });
    expect(output).toMatchObject({ exitCode, signal: null, stdout: "" });
    expect((output as unknown as ProgramCompletion).stderr).toContain(command);
  }
});
