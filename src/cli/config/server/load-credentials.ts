import { createPublicKey, type KeyObject } from "node:crypto";
import type { ConfigProblem } from "../../../config/problem.ts";
import { described, mapOf, PATH, TEXT, TEXTS } from "../../../config/shape.ts";
import type { ConfigEntry, ConfigPath } from "../../../config/source.ts";
import { ROLES, type Role } from "../../../http/access.ts";
import { MIN_TOKEN_LENGTH } from "../../../http/authentication.ts";
import { type Credential, credentialProblem, needsExecutor, sameKeyAs } from "../../../http/clients.ts";
import { list, oneOf, type TypeOf, typed } from "../../../json/shape.ts";
import { readTextBeside, readToken, TOKEN } from "../token.ts";

/** The JSON Schema of a {@link CredentialEntry}. */
export const CREDENTIAL = mapOf(
  {
    id: described(TEXT, "The id of the principal, and of the key."),
    key: described(
      PATH,
      "The public key that verifies its requests, in PEM. Exactly one of `key`, `token` and `certificate` must be set.",
    ),
    token: described(TOKEN, "The bearer token of its requests."),
    certificate: described(
      TEXT,
      "A name of its certificate, such as `URI:spiffe://example.org/agent`. Requires `tls` with `clientCa`.",
    ),
    roles: described(
      typed<readonly Role[]>({ ...list(oneOf(ROLES)), minItems: 1, uniqueItems: true }),
      "What the principal may do: see docs/http-api.md#credentials.",
    ),
    approves: described(
      typed<readonly string[]>({ ...TEXTS, minItems: 1 }),
      "Patterns of the ids of the principals for whose sessions an approver answers; `*` stands for any characters. Default: its own id.",
    ),
  },
  ["id", "roles"],
);

/** A credential in a config. The path of its key is relative to the file. */
export type CredentialEntry = TypeOf<typeof CREDENTIAL>;

/**
 * Loads the credentials of a server, with the keys and tokens that they name.
 *
 * @param entry The server's.
 * @param problems Receives every problem.
 * @param hasExecutor Whether there can be clients of the executor.
 */
export async function loadCredentials(
  entry: ConfigEntry<{ readonly credentials?: readonly CredentialEntry[] }>,
  problems: ConfigProblem[],
  hasExecutor: boolean,
): Promise<readonly Credential[]> {
  const credentials: Credential[] = [];
  for (const [index, written] of (entry.value.credentials ?? []).entries()) {
    const path = ["credentials", index];
    const { id, roles, approves, certificate } = written;
    const rest = {
      id,
      roles,
      ...(approves && { approves }),
      ...(certificate !== undefined && { certificate }),
    };
    const key =
      written.key === undefined
        ? undefined
        : await readPublicKeyFile(written.key, entry, [...path, "key"], problems);
    const token =
      written.token === undefined
        ? undefined
        : await readToken(written.token, entry, [...path, "token"], problems);
    if (token !== undefined && token.length < MIN_TOKEN_LENGTH) {
      const at = [...path, "token", written.token?.file === undefined ? "env" : "file"];
      problems.push(entry.problem(at, `the token must have at least ${MIN_TOKEN_LENGTH} characters`));
    }
    const credential = { ...rest, ...(key && { key }), ...(token !== undefined && { token }) };
    const isRead =
      (written.key === undefined || key !== undefined) &&
      (written.token === undefined || token !== undefined);
    const problem = isRead ? (credentialProblem(credential) ?? twice(credential, credentials)) : undefined;
    if (problem !== undefined) problems.push(entry.problem(path, problem));
    const client = hasExecutor ? -1 : roles.indexOf("client");
    if (client >= 0) {
      const message = needsExecutor("the role 'client'", "'caller'");
      problems.push(entry.problem([...path, "roles", client], message));
    }
    credentials.push(credential);
  }
  return credentials;
}

function twice(
  { id, key, token, certificate }: Credential,
  earlier: readonly Credential[],
): string | undefined {
  if (key !== undefined && earlier.some((other) => other.key !== undefined && other.id === id)) {
    return "another credential has a key with the same id: a signature could be of either";
  }
  const same = key && earlier.find((other) => other.key?.equals(key) === true);
  if (same !== undefined) return sameKeyAs(same.id);
  if (certificate !== undefined && earlier.some((other) => other.certificate === certificate)) {
    return "another credential has the same certificate: they could not be told apart";
  }
  if (token !== undefined && earlier.some((other) => other.token === token)) {
    return "another credential has the same token: they could not be told apart";
  }
  return undefined;
}

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
