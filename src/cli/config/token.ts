import { readFile } from "node:fs/promises";
import { guardFiles } from "../../base/guarded-files.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { described, mapOf, PATH, TEXT } from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath } from "../../config/source.ts";
import { type Shape, type TypeOf, typed } from "../../json/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import { pathBeside } from "./guard-code.ts";

/** The members of a `Receiver`. */
export const RECEIVER_MEMBERS = {
  command: described(
    typed<readonly string[]>({ type: "array", minItems: 1, items: { type: "string" } }),
    "A program and its arguments, without a shell. It reads each text from its standard input. Exactly one of `command` and `url` must be set.",
  ),
  url: described(TEXT, "An `http:` or `https:` URL that gets each text in a POST request."),
};

/** The JSON Schema of a `Receiver`. */
export const RECEIVER: JsonObject = {
  type: "object",
  properties: RECEIVER_MEMBERS,
  additionalProperties: false,
  oneOf: [{ required: ["command"] }, { required: ["url"] }],
  message: "must have either command, a list of a program and its arguments, or url",
};

const PLACE = mapOf({
  file: described(PATH, "The file of the secret. Exactly one of `file` and `env` must be set."),
  env: described(TEXT, "The environment variable that has the secret."),
});

/** The place of a token: a file or an environment variable. The config never contains the token itself. */
export type TokenEntry = TypeOf<typeof PLACE>;

/** The JSON Schema of a {@link TokenEntry}. */
export const TOKEN: Shape<TokenEntry> = typed({
  type: "object",
  properties: PLACE["properties"],
  additionalProperties: false,
  oneOf: [{ required: ["file"] }, { required: ["env"] }],
  message: "must have either file or env: the token itself does not belong here",
});

/**
 * Reads a token.
 *
 * @param entry The entry that names it, at `path`.
 * @param problems Receives every problem; the result is then `undefined`.
 */
export async function readToken(
  { file, env }: TokenEntry,
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<string | undefined> {
  if (file !== undefined) return (await readTextBeside(file, entry, [...path, "file"], problems))?.trim();
  const token = process.env[env ?? ""];
  if (token === undefined) {
    problems.push(entry.problem([...path, "env"], "the environment variable is not set"));
  }
  return token;
}

/** Reads a text file that an entry names at `path`. Adds to `problems` and returns `undefined` if that fails. */
export async function readTextBeside(
  file: string,
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<string | undefined> {
  const place = pathBeside(entry.file, file);
  guardFiles([{ path: place }]);
  try {
    return await readFile(place, "utf8");
  } catch {
    problems.push(entry.problem(path, "the file cannot be read"));
    return undefined;
  }
}
