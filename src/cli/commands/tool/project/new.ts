import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { joinShown, shown } from "../../../../rendering/shown.ts";
import { PACKAGE_FOLDER } from "../../../help.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../../terminal/terminal.ts";
import type { Template, ToolCommand } from "../../../tool-command.ts";
import { TEMPLATES } from "./templates.ts";

/** Creates a project with a tool and its test. If one of its files exists, nothing is written. */
export async function newTool(
  { directory, template }: Extract<ToolCommand, { name: "tool new" }>,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const files = await projectFiles(template);
  try {
    for (const name of files.keys()) {
      if (await exists(join(directory, name))) throw new Error(`${join(directory, name)} already exists`);
    }
    for (const [name, text] of files) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      // Fails even if the file was created in the meantime.
      await writeFile(join(directory, name), text, { flag: "wx" });
    }
  } catch (error) {
    await print(stderr, shown`sandgate: cannot create the project: ${(error as Error).message}`);
    return EXIT_BAD_INPUT;
  }
  const written = Array.from(files.keys(), (name) => shown`${join(directory, name)}`);
  await print(stdout, joinShown(written, "\n"));
  await print(stderr, shown`Next: cd ${directory} && npm install && npm test`);
  return EXIT_OK;
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

/** Returns whether a path exists, also as a dangling link. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
