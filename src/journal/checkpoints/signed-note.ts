import type { KeyObject } from "node:crypto";
import { loadCrypto } from "../../base/load-crypto.ts";

/** A note of https://c2sp.org/signed-note. Its text counts only if a trusted key signed it. */
export interface SignedNote {
  /** Ends with a newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A signature of a note, checked or not. */
export interface NoteSignature extends NoteKey {
  readonly bytes: Buffer;
}

/** What is known about the signatures of a note: `other` means that no trusted key signed it. */
export type NoteCheck = "signed" | "forged" | "other";

const SIGNATURE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u;
const MAX_SIGNATURES = 100;

/** Signs a text, which must end with a newline. */
export function signNote(text: string, { name, id, key }: SigningKey): string {
  const signature = loadCrypto().sign(null, Buffer.from(text), key);
  const bytes = Buffer.concat([Buffer.from(id, "hex"), signature]);
  return `${text}\n— ${name} ${bytes.toString("base64")}\n`;
}

/** Reads a signed note. Returns `undefined` if it is none. */
export function parseNote(note: string): SignedNote | undefined {
  const split = note.lastIndexOf("\n\n") + 1;
  const lines = note.slice(split + 1, -1).split("\n");
  if (split === 0 || !note.endsWith("\n") || lines.length > MAX_SIGNATURES) return undefined;
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const [, name, encoded = ""] = SIGNATURE.exec(line) ?? [];
    const bytes = Buffer.from(encoded, "base64");
    if (name === undefined || bytes.length < 5) return undefined;
    signatures.push({ name, id: bytes.toString("hex", 0, 4), bytes: bytes.subarray(4) });
  }
  return { text: note.slice(0, split), signatures };
}

/** Checks the signatures of a note by keys that are trusted. Signatures by other keys are ignored. */
export function checkNote({ text, signatures }: SignedNote, trusted: readonly VerifierKey[]): NoteCheck {
  let check: NoteCheck = "other";
  for (const { name, id, bytes } of signatures) {
    const known = trusted.find((key) => key.name === name && key.id === id);
    if (known === undefined) continue;
    if (!loadCrypto().verify(null, Buffer.from(text), known.key, bytes)) return "forged";
    check = "signed";
  }
  return check;
}

/** The name and the id by which a signature refers to its key. */
export interface NoteKey {
  readonly name: string;
  /** Eight hexadecimal digits. */
  readonly id: string;
}

/** A key that signs notes. */
export interface SigningKey extends NoteKey {
  readonly key: KeyObject;
  /** The key with which the signatures are checked, as text. */
  readonly verifier: string;
}

/** A key that checks the signatures of notes. */
export interface VerifierKey extends NoteKey {
  readonly key: KeyObject;
}

/** A new pair of keys, as text. */
export interface JournalKeys {
  /** `PRIVATE+KEY+name+id+…`: keep it secret. */
  readonly signer: string;
  /** `name+id+…`: give it to those who verify. */
  readonly verifier: string;
}

const ED25519 = 0x01;
const SIGNER = /^PRIVATE\+KEY\+([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/;
const VERIFIER = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/;

/** What DER puts before the 32 bytes of a key (RFC 8410). */
const PRIVATE_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_HEAD = Buffer.from("302a300506032b6570032100", "hex");

/**
 * Creates a pair of Ed25519 keys in the text form of `golang.org/x/mod/sumdb/note`.
 *
 * @param name Identifies the journal, such as `example.com/journal`.
 * @throws {TypeError} if the name is empty, longer than 256 characters, or has a `+`, a space or a control character.
 */
export function createJournalKeys(name: string): JournalKeys {
  if (!/^[^\s+\p{Cc}]{1,256}$/u.test(name) || !name.isWellFormed()) {
    throw new TypeError("a key's name must have 1 to 256 characters, and neither spaces nor '+'");
  }
  const { privateKey } = loadCrypto().generateKeyPairSync("ed25519");
  const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32);
  const { id, verifier } = signingKey(name, seed);
  return { signer: `PRIVATE+KEY+${name}+${id}+${encode(seed)}`, verifier };
}

/** @throws {TypeError} if the text is not a key that signs. It repeats nothing of the text. */
export function readSigningKey(text: string): SigningKey {
  const [, name = "", id = "", encoded = ""] = SIGNER.exec(text.trim()) ?? [];
  const seed = decode(encoded);
  const key = seed && signingKey(name, seed);
  if (key?.id === id) return key;
  throw new TypeError("the journal's key must be a signing key, as sandgate journal keygen writes it");
}

/** @throws {TypeError} if the text is not a key that verifies. */
export function readVerifierKey(text: string): VerifierKey {
  const [, name = "", id = "", encoded = ""] = VERIFIER.exec(text.trim()) ?? [];
  const bytes = decode(encoded);
  if (bytes !== undefined && keyId(name, bytes) === id) {
    const der = Buffer.concat([PUBLIC_HEAD, bytes]);
    return { name, id, key: loadCrypto().createPublicKey({ key: der, format: "der", type: "spki" }) };
  }
  throw new TypeError("the key must be a verifier key, as sandgate journal keygen writes it");
}

function signingKey(name: string, seed: Buffer): SigningKey {
  const { createPrivateKey, createPublicKey } = loadCrypto();
  const key = createPrivateKey({
    key: Buffer.concat([PRIVATE_HEAD, seed]),
    format: "der",
    type: "pkcs8",
  });
  const bytes = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  const id = keyId(name, bytes);
  return { name, id, key, verifier: `${name}+${id}+${encode(bytes)}` };
}

function keyId(name: string, publicKey: Buffer): string {
  const text = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), publicKey]);
  return loadCrypto().hash("sha256", text).slice(0, 8);
}

function encode(key: Buffer): string {
  return Buffer.concat([Buffer.of(ED25519), key]).toString("base64");
}

function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 33 && bytes[0] === ED25519 ? bytes.subarray(1) : undefined;
}
