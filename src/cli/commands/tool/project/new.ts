import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { PACKAGE_FOLDER } from "../../help.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import type { Language, ToolCommand } from "../../tool-command.ts";

/** The examples that are copied into new projects, and their files. */
const TEMPLATES: Record<Language, { readonly folder: string; readonly files: readonly string[] }> = {
  javascript: {
    folder: "examples/wasm-tool-javascript/",
    files: ["README.md", "build.mjs", "csv.js", "package.json", "tool.js"],
  },
  c: {
    folder: "examples/wasm-tool-c/",
    files: [
      ...["README.md", "build.mjs", "json.c", "json.h"],
      ...["package.json", "sandgate_tool.c", "sandgate_tool.h", "tool.c"],
    ],
  },
};

/** Creates a project that builds a component. If one of its files exists, nothing is written. */
export async function newTool(
  { directory, language }: Extract<ToolCommand, { name: "tool new" }>,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const files = await projectFiles(language);
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
  await print(stderr, shown`Next: cd ${directory} && npm install && npm run build`);
  return EXIT_OK;
}

/** Returns the texts of a new project's files by path. */
async function projectFiles(language: Language): Promise<ReadonlyMap<string, string>> {
  const { folder, files } = TEMPLATES[language];
  const texts = new Map([[".gitignore", "node_modules/\ndist/\n"]]);
  for (const name of files) texts.set(name, await readFile(new URL(folder + name, PACKAGE_FOLDER), "utf8"));
  for (const name of (await readdir(new URL("wit/", PACKAGE_FOLDER))).sort()) {
    texts.set(`wit/${name}`, await readFile(new URL(`wit/${name}`, PACKAGE_FOLDER), "utf8"));
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
