import { loadCrypto } from "../../base/load-crypto.ts";
import type { NoteKey, SigningKey, VerifierKey } from "./note-keys.ts";

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
