import { setImmediate } from "node:timers/promises";
import { BinaryReader, CORE_SECTION } from "../core-module/binary-reader.ts";
import { sectionBytes, u32Bytes } from "../core-module/binary-writer.ts";

import type { Code } from "./assembly.ts";
import { EditedBytes, growthBy } from "./edited-bytes.ts";
import type { FunctionScanner } from "./function-scanner.ts";

/** After so many bytes, the event loop gets a turn. Reading them takes some milliseconds. */
const SLICE_BYTES = 512 * 1_024;

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
 * @returns the new section; `undefined` if nothing has to change.
 */
export async function rewriteCode(
  binary: Uint8Array,
  { start, end }: Range,
  scanner: FunctionScanner,
  appended: () => readonly Code[],
): Promise<Uint8Array | undefined> {
  const content = binary.subarray(0, end);
  const reader = new BinaryReader(content, start);
  const count = reader.u32();
  const edited = new EditedBytes(content, reader.at);
  let pausedAt = start;
  for (let index = 0; index < count; index++) {
    if (reader.at - pausedAt > SLICE_BYTES) {
      await setImmediate();
      pausedAt = reader.at;
    }
    const from = reader.at;
    const size = reader.u32();
    const to = reader.at;
    reader.bytes(size);
    const edits = scanner.scan(index, to, reader.at);
    if (edits.length === 0) continue;
    edited.edit({ from, to, code: u32Bytes(size + growthBy(edits)) });
    for (const edit of edits) edited.edit(edit);
  }
  if (edited.isSame) return undefined;
  const bodies = appended();
  return sectionBytes(
    CORE_SECTION.code,
    u32Bytes(count + bodies.length),
    edited.finish(),
    bodies.flatMap((body) => [...u32Bytes(body.length), ...body]),
  );
}
