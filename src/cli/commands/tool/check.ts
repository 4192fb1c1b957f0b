import { joinShown, shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { scriptNeeds } from "../../../sandboxes/quickjs/template/script-needs.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_INTERRUPTED,
  EXIT_OK,
  type ExitCode,
  print,
  type Terminal,
} from "../../terminal/terminal.ts";
import type { ToolCommand } from "../../tool-command.ts";
import { checkComponent } from "./check-component.ts";
import { checkJavaScript } from "./check-javascript.ts";
import { type FileNeeds, readGrantValues, writeGrant } from "./grant-file.ts";
import { isComponentFile, toolOfFile } from "./tool-file.ts";

/**
 * Loads each tool as a call would, without calling it, and reports its problems. With `--grant`, it also writes a policy
 * that grants what the tools can use, unless there is a problem.
 *
 * @throws {UsageError} if a `--value` is invalid, or the policy cannot be written.
 */
export async function checkTools(
  { files, export: exportName, engine, grant, values }: Extract<ToolCommand, { name: "tool check" }>,
  { stdout, stderr, signal }: Terminal,
): Promise<ExitCode> {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  sandboxes.ensureExit();
  const notes: ShownText[] = [];
  const problems: ShownText[] = [];
  const needs: FileNeeds[] = [];
  const named = readGrantValues(values);
  for (const file of files) {
    if (signal?.aborted) return EXIT_INTERRUPTED;
    if (await isComponentFile(file)) {
      const findings = await checkComponent(file, { tool: undefined, export: exportName, engine }, sandboxes);
      notes.push(...findings.notes.map((note) => shown`${file}: ${note}`));
      problems.push(...findings.problems.map((problem) => shown`${file}: ${problem}`));
      if (findings.needs !== undefined) needs.push(findings.needs);
    } else if (engine !== undefined) {
      problems.push(shown`${file}: --engine requires a component, and it is not one`);
    } else {
      const found = await checkJavaScript(file, exportName ?? "default", sandboxes);
      problems.push(...found);
      if (found.length === 0) {
        notes.push(shown`${file}: exports the tool '${exportName ?? "default"}'`);
        if (grant !== undefined) needs.push(await moduleNeeds(file, exportName ?? "default"));
      }
    }
  }
  if (grant !== undefined && problems.length === 0) {
    await writeGrant(grant, needs, named);
    notes.push(shown`${grant}: grants what ${files.length === 1 ? "it" : "they"} can use`);
  }
  await print(stdout, joinShown(notes, "\n"));
  await print(stderr, joinShown(problems, "\n"));
  return problems.length === 0 ? EXIT_OK : EXIT_BAD_INPUT;
}

/** Returns what a policy has to grant to the tool of a module. */
async function moduleNeeds(file: string, exportName: string): Promise<FileNeeds> {
  const { name, quickjs } = toolOfFile(file, exportName);
  const mentioned = quickjs === undefined ? [] : [...(await scriptNeeds(quickjs))];
  const capabilities = new Map(mentioned.map((capability) => [capability, "seems to use it"]));
  return { file, tools: [name], sandbox: "quickjs", capabilities };
}
