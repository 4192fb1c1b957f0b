import { setImmediate } from "node:timers/promises";
import { BinaryReader, CORE_SECTION } from "../core-module/binary-reader.ts";
import { u32Bytes } from "../core-module/binary-writer.ts";

import type { Code } from "./assembly.ts";
import { EditedBytes, growthBy } from "./edited-bytes.ts";
import type { FunctionScanner } from "./function-scanner.ts";

/** After so many bytes, the event loop gets a turn. Reading them takes some milliseconds. */
const SLICE_BYTES = 128 * 1_024;

/** A function takes as long to read as so many bytes, however small it is. */
const FUNCTION_BYTES = 32;

/** An edit takes as long as reading so many bytes. */
const EDIT_BYTES = 16;

/** Where the content of a section is in its module. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Rewrites the functions of a core module.
 *
 * @param section Its code section.
 * @param appended Returns the bodies of the functions to append, once all others have been scanned.
 * @returns the new section in parts; `undefined` if nothing has to change.
 */
export async function rewriteCode(
  binary: Uint8Array,
  { start, end }: Range,
  scanner: FunctionScanner,
  appended: () => readonly Code[],
): Promise<readonly Uint8Array[] | undefined> {
  const content = binary.subarray(0, end);
  const reader = new BinaryReader(content, start);
  const count = reader.u32();
  const edited = new EditedBytes(content, reader.at);
  let work = 0;
  for (let index = 0; index < count; index++) {
    const from = reader.at;
    const size = reader.u32();
    work += size + FUNCTION_BYTES;
    if (work > SLICE_BYTES) {
      await setImmediate();
      work = size;
    }
    const to = reader.at;
    reader.bytes(size);
    const edits = scanner.scan(index, to, reader.at);
    if (edits.length === 0) continue;
    work += edits.length * EDIT_BYTES;
    edited.edit({ from, to, code: u32Bytes(size + growthBy(edits)) });
    for (const edit of edits) edited.edit(edit);
  }
  if (edited.isSame) return undefined;
  const own = edited.finish();
  const bodies = appended();
  const added = Uint8Array.from(bodies.flatMap((body) => [...u32Bytes(body.length), ...body]));
  const counted = u32Bytes(count + bodies.length);
  const size = own.reduce((sum, { length }) => sum + length, counted.length + added.length);
  return [Uint8Array.from([CORE_SECTION.code, ...u32Bytes(size), ...counted]), ...own, added];
}
