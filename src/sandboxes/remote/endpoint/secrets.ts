import { freezeJson, isJsonObject, type JsonValue } from "../../../json/value.ts";
import { findSecretsIn } from "./find-secrets-in.ts";

/** Returns the value of a secret, or `undefined` if there is none. */
export type SecretSource = (name: string) => string | undefined | Promise<string | undefined>;

/** Returns the environment variable of the same name. */
export const environmentSecrets: SecretSource = (name) =>
  Object.hasOwn(process.env, name) ? process.env[name] : undefined;

/** The secrets of one call, by name. */
export type Secrets = ReadonlyMap<string, string>;

/** The secrets of a call that uses none. */
export const NO_SECRETS: Secrets = new Map();

/** A secret has no value. `message` is for the operator. */
export class SecretError extends Error {
  override readonly name = "SecretError";
}

/** The grant does not name a secret. `message` is for the operator. */
export class SecretDeniedError extends Error {
  override readonly name = "SecretDeniedError";
}

/**
 * Looks up the secrets that a tool needs.
 *
 * @param granted The names in the grant. If a secret is missing there, none is looked up.
 * @throws {SecretDeniedError} if a secret is not granted.
 * @throws {SecretError} if a secret has no value.
 */
export async function findSecrets(
  names: readonly string[],
  granted: readonly string[],
  source: SecretSource,
): Promise<Secrets> {
  const missing = names.find((name) => !granted.includes(name));
  if (missing !== undefined) {
    throw new SecretDeniedError(`the grant does not name the secret '${missing}' (secrets: [${missing}])`);
  }
  const found = await Promise.all(names.map(async (name) => [name, await readSecret(name, source)] as const));
  return new Map(found);
}

async function readSecret(name: string, source: SecretSource): Promise<string> {
  let value: unknown;
  try {
    value = await source(name);
  } catch {
    // The error is dropped: it may quote the secret.
    throw new SecretError(`the secret '${name}' cannot be read`);
  }
  if (typeof value !== "string" || value === "") throw new SecretError(`the secret '${name}' has no value`);
  return value;
}

/** Replaces secrets in a text, as they are or in any usual encoding, with their names. */
export function redactText(text: string, secrets: Secrets): string {
  if (secrets.size === 0) return text;
  const found = findSecretsIn(text, secrets);
  if (found.length === 0) return text;
  // Of secrets that overlap, the longest gives its name, and nothing of the others remains.
  const ordered = found.toSorted((one, other) => one.start - other.start || other.end - one.end);
  let redacted = "";
  let written = 0;
  for (const { name, start, end } of ordered) {
    if (end <= written) continue;
    if (start >= written) redacted += `${text.slice(written, start)}[secret ${name}]`;
    written = end;
  }
  return redacted + text.slice(written);
}

/** Replaces secrets in a body that may be JSON, however it encodes them. */
export function redactBody(body: string, secrets: Secrets): string {
  if (secrets.size === 0) return body;
  let value: JsonValue;
  try {
    value = freezeJson(JSON.parse(body) as JsonValue);
  } catch {
    return redactText(body, secrets);
  }
  const redacted = redactJson(value, secrets);
  return redacted === value ? body : JSON.stringify(redacted);
}

/** Applies {@link redactText} to a frozen value, with its member names. Returns the same value if nothing changes. */
export function redactJson(value: JsonValue, secrets: Secrets): JsonValue {
  if (secrets.size === 0) return value;
  if (typeof value === "string") return redactText(value, secrets);
  if (typeof value !== "object" || value === null) return value;
  let isChanged = false;
  const redact = <T extends JsonValue>(old: T): T => {
    const redacted = redactJson(old, secrets);
    if (redacted !== old) isChanged = true;
    return redacted as T;
  };
  const copy = isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [redact(key), redact(member ?? null)]))
    : (value as readonly JsonValue[]).map(redact);
  return isChanged ? Object.freeze(copy) : value;
}
