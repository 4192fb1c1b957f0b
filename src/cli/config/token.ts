import { readFile } from "node:fs/promises";
import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import { pathBeside } from "./config-path.ts";

/** The place of a token: a file or an environment variable. The config never contains the token itself. */
export interface TokenEntry {
  readonly file?: string;
  readonly env?: string;
}

/** The JSON Schema of a {@link TokenEntry}. */
export const TOKEN: JsonObject = {
  type: "object",
  properties: { file: { type: "string", minLength: 1 }, env: { type: "string", minLength: 1 } },
  additionalProperties: false,
  oneOf: [{ required: ["file"] }, { required: ["env"] }],
  message: "must have either file or env: the token itself does not belong here",
};

/**
 * Reads a token.
 *
 * @param entry The entry that names it, at `path`.
 * @param problems Receives every problem; the result is then `undefined`.
 */
export async function readToken(
  { file, env }: TokenEntry,
  source: ConfigSource,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<string | undefined> {
  if (file !== undefined) return (await readTextBeside(file, source, [...path, "file"], problems))?.trim();
  const token = process.env[env ?? ""];
  if (token === undefined) {
    problems.push(source.problem([...path, "env"], "there is no environment variable of that name"));
  }
  return token;
}

/** Reads a text file that an entry names at `path`. Adds to `problems` and returns `undefined` if that fails. */
export async function readTextBeside(
  file: string,
  source: ConfigSource,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<string | undefined> {
  try {
    return await readFile(pathBeside(source.file, file), "utf8");
  } catch {
    problems.push(source.problem(path, "the file cannot be read"));
    return undefined;
  }
}
