import { readdir, readFile } from "node:fs/promises";
import { PACKAGE_FOLDER } from "../../../../base/package-folder.ts";
import type { ExitCode, Terminal } from "../../../terminal/terminal.ts";
import type { Template, ToolCommand } from "../../../tool-command.ts";
import { writeNewFiles } from "../../new-files.ts";
import { TEMPLATES } from "./templates.ts";

/** Creates a project with a tool and its test. If one of its files exists, nothing is written. */
export async function newTool(
  { directory, template }: Extract<ToolCommand, { name: "tool new" }>,
  terminal: Terminal,
): Promise<ExitCode> {
  const next = `cd ${directory} && npm install && npm test`;
  return writeNewFiles(directory, await projectFiles(template), next, terminal);
}

/** Returns the texts of a new project's files by path. */
async function projectFiles(template: Template): Promise<ReadonlyMap<string, string>> {
  const { folder, files, shared, wit } = TEMPLATES[template];
  const sources = new Map(Object.entries(shared));
  for (const name of files) sources.set(name, folder + name);
  const names = wit ? (await readdir(new URL("wit/", PACKAGE_FOLDER))).sort() : [];
  for (const name of names) sources.set(`wit/${name}`, `wit/${name}`);
  const texts = new Map([[".gitignore", "node_modules/\ndist/\ntarget/\n"]]);
  for (const [name, source] of sources) {
    texts.set(name, await readFile(new URL(source, PACKAGE_FOLDER), "utf8"));
  }
  return texts;
}
