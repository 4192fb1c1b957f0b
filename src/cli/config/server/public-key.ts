import { createPublicKey, type KeyObject } from "node:crypto";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigEntry, ConfigPath } from "../../../config/source.ts";
import { readTextBeside } from "../token.ts";

/**
 * Reads the public key of a client from the PEM file that an entry names at `path`.
 *
 * @param problems Receives every problem; the result is then `undefined`.
 */
export async function readPublicKeyFile(
  file: string,
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<KeyObject | undefined> {
  const text = await readTextBeside(file, entry, path, problems);
  if (text === undefined) return undefined;
  const key = readPublicKey(text);
  if (typeof key !== "string") return key;
  problems.push(entry.problem(path, key));
  return undefined;
}

/** Returns the key in a PEM text, or what is wrong with it. */
function readPublicKey(pem: string): KeyObject | string {
  if (pem.includes("PRIVATE KEY"))
    return "the file contains a private key: an executor needs only the public key";
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : "the key must be an Ed25519 key";
  } catch {
    return "the file does not contain a public key in PEM";
  }
}
