import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ComponentToRun, ToolEnds } from "./components-program.ts";

/** Runs the tools of components in both engines, in a child process. Returns how their calls ended. */
export async function runComponents(components: readonly ComponentToRun[]): Promise<readonly ToolEnds[]> {
  const program = fileURLToPath(new URL("components-program.ts", import.meta.url));
  const cacheDirectory = await mkdtemp(join(tmpdir(), "sandgate-engines-"));
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, cacheDirectory, JSON.stringify(components)],
      {
        maxBuffer: 64 * 1_024 * 1_024,
      },
    );
    return JSON.parse(stdout);
  } finally {
    await rm(cacheDirectory, { recursive: true, force: true });
  }
}
