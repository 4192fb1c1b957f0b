import type { SigningKey } from "./note-keys.ts";
import { parseNote, type SignedNote, signNote } from "./signed-note.ts";

/** What a journal was at some time: a signed note of three lines. */
export interface Checkpoint {
  /** The name of the journal, which is that of its key. */
  readonly origin: string;
  /** The number of records. */
  readonly records: number;
  /** SHA-256 of the last line without its newline, in hexadecimal digits. */
  readonly digest: string;
  readonly note: SignedNote;
}

/** The lines of a checkpoint: three, an empty one and the signature. */
const TEXT = /^([^\n]+)\n([1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n$/;

/** Signs a checkpoint of a journal. */
export function signCheckpoint(records: number, digest: string, key: SigningKey): string {
  return signNote(`${key.name}\n${records}\n${Buffer.from(digest, "hex").toString("base64")}\n`, key);
}

/**
 * Reads checkpoints that follow each other, with or without empty lines between them.
 *
 * @returns The checkpoints, and the text from the first thing on that is no checkpoint: it is empty if everything was
 *   read. A crash can leave a part of a checkpoint at the end of a file.
 */
export function parseCheckpoints(text: string): {
  readonly checkpoints: Checkpoint[];
  readonly rest: string;
} {
  const checkpoints: Checkpoint[] = [];
  let start = 0;
  while (start < text.length) {
    if (text[start] === "\n") {
      start++;
      continue;
    }
    const end = endOfNote(text, start);
    const checkpoint = end === undefined ? undefined : readCheckpoint(text.slice(start, end));
    if (end === undefined || checkpoint === undefined) break;
    checkpoints.push(checkpoint);
    start = end;
  }
  return { checkpoints, rest: text.slice(start) };
}

/** The position after a note: its signatures are the lines after the first empty one that begin with a dash. */
function endOfNote(text: string, start: number): number | undefined {
  const split = text.indexOf("\n\n", start);
  if (split < 0) return undefined;
  let end = split + 2;
  while (text.startsWith("— ", end)) {
    const newline = text.indexOf("\n", end);
    if (newline < 0) return undefined;
    end = newline + 1;
  }
  return end;
}

function readCheckpoint(text: string): Checkpoint | undefined {
  const note = parseNote(text);
  const [, origin, records, digest = ""] = TEXT.exec(note?.text ?? "") ?? [];
  if (note === undefined || origin === undefined || !Number.isSafeInteger(Number(records))) return undefined;
  return { origin, records: Number(records), digest: Buffer.from(digest, "base64").toString("hex"), note };
}
