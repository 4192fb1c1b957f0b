import { readFile } from "node:fs/promises";

/** A tool that is trusted with its own folder, and with nothing else. */
export const readNote = ({ name }: { name: string }): Promise<string> =>
  readFile(new URL(`notes/${name}`, import.meta.url), "utf8");
