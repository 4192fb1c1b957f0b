import { homedir, tmpdir } from "node:os";

/** What a tool threw, told to the model and to the operator. */
export interface ThrownText {
  /** The tool's own words, without stack and without this host's paths. */
  readonly message: string;
  /** Everything, for the operator. */
  readonly detail: string;
}

/** Describes whatever trusted code threw: errors, strings, nothing at all. Never throws. */
export function describeThrown(thrown: unknown): ThrownText {
  try {
    if (thrown instanceof Error) {
      const message = String(thrown.message);
      return { message: withoutHostPaths(message), detail: String(thrown.stack ?? message) };
    }
    if (typeof thrown === "string") return { message: withoutHostPaths(thrown), detail: thrown };
    const text = thrown === undefined || thrown === null ? "" : String(JSON.stringify(thrown));
    return { message: withoutHostPaths(text), detail: text };
  } catch {
    return { message: "", detail: "the tool threw what cannot be read" };
  }
}

/** The folders whose names tell about this machine; longest first, so that the most telling one goes. */
const HOST_FOLDERS: readonly string[] = [process.cwd(), homedir(), tmpdir()]
  .filter((folder) => folder.length > 1)
  .sort((a, b) => b.length - a.length);

/** Cuts this host's folders out of a text: `open '/home/me/project/x'` says `open 'x'`. */
export function withoutHostPaths(text: string): string {
  let clean = text;
  for (const folder of HOST_FOLDERS) {
    clean = clean.replaceAll(`file://${folder}/`, "").replaceAll(`${folder}/`, "").replaceAll(folder, ".");
  }
  return clean;
}
