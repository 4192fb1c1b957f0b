import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PACKAGE_FOLDER } from "../../../base/package-folder.ts";
import { shown } from "../../../rendering/shown.ts";
import { ToolPreparationError } from "../../../sandboxes/contract/sandbox.ts";
import { readComponentBytes } from "../../../sandboxes/wasm/component/gate.ts";
import { newComponent } from "../../../sandboxes/wasm/tools/new-component.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import type { ToolCommand } from "../../tool-command.ts";

/** Writes a component of the world `sandgate:tool` that a core module implements. Overwrites the file. */
export async function makeComponent(
  { file, out }: Extract<ToolCommand, { name: "tool component" }>,
  { stderr }: Terminal,
): Promise<ExitCode> {
  try {
    const wit = await readFile(new URL("wit/tool.wit", PACKAGE_FOLDER), "utf8");
    const component = await newComponent(await readComponentBytes(file), wit);
    await mkdir(dirname(out), { recursive: true });
    await writeFile(out, component);
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof ToolPreparationError) && !isSystemError(error)) throw error;
    await print(stderr, shown`${file}: ${error.message}`);
    return EXIT_BAD_INPUT;
  }
}

/** Whether an error says that a file cannot be written. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
