import { lstat, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { joinShown, shown } from "../../rendering/shown.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../terminal/terminal.ts";

/**
 * Writes new files and prints their paths. If one of them exists, nothing is written.
 *
 * @param files Texts by paths below the directory.
 * @param next What to do next.
 */
export async function writeNewFiles(
  directory: string,
  files: ReadonlyMap<string, string>,
  next: string,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
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
  await print(stderr, shown`Next: ${next}`);
  return EXIT_OK;
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
