import { readFile } from "node:fs/promises";

/** A tool that can read the folder of the config, and nothing else but the executor's code. */
export const readNote = ({ name }: { name: string }): Promise<string> =>
  readFile(new URL(`notes/${name}`, import.meta.url), "utf8");
