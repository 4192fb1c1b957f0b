import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { microvmAvailability } from "../../src/sandboxes/microvm/availability.ts";
import { QEMU } from "../../src/sandboxes/microvm/qemu/qemu-files.ts";
import { NotHereError, type OpenCase, type Question } from "../harness/case.ts";
import { INPUT_SCHEMA, INPUT_TEXT, isEcho } from "../setting.ts";

/** Milliseconds in which a machine becomes ready for the next call, on a machine that has nothing else to do. */
const REHEARSAL_MS = 2_000;

async function requireMachines(): Promise<void> {
  const found = await microvmAvailability();
  if (!found.available) throw new NotHereError(found.reason);
}

/** Calls of `cat` in a virtual machine. The machine is booted when the case is opened. */
async function openEcho(ready: number): Promise<OpenCase> {
  await requireMachines();
  const image = mkdtempSync(join(tmpdir(), "bench-microvm-"));
  const sandboxes = await openSandboxes({ microvm: { ready } });
  const microvm = { image, command: "cat" };
  const tool = defineTool({ name: "echo", description: "", inputSchema: INPUT_SCHEMA, microvm });
  await sandboxes.prepare({ microvm });
  const context = {
    registry: new ToolRegistry().register(tool),
    policy: { check: () => allow({ sandbox: "microvm" }) },
    sandboxes,
    sessionId: "bench",
  };
  const engine = new ToolDispatchEngine();
  const run = () => engine.dispatch({ id: "call", name: "echo", arguments: INPUT_TEXT }, context);
  await run();
  return {
    run,
    check: isEcho,
    ...(ready > 0 && { before: () => wait(REHEARSAL_MS) }),
    close: async () => {
      await sandboxes.close();
      rmSync(image, { recursive: true });
    },
  };
}

/** The cost of a call in a virtual machine of its own, compared to starting QEMU alone. */
export const questions: readonly Question[] = [
  {
    name: "microvm",
    cases: [
      {
        name: "qemu-system-x86_64 --version, until it has ended",
        open: async () => {
          await requireMachines();
          return {
            run: () => promisify(execFile)(QEMU, ["--version"]),
            check: (answer) => {
              if (!(answer as { stdout: string }).stdout.startsWith("QEMU")) throw new Error("no version");
            },
          };
        },
      },
      { name: "dispatch to a machine that is restored for it", open: () => openEcho(0) },
      { name: "dispatch to a machine that was kept ready", open: () => openEcho(1) },
    ],
  },
];
