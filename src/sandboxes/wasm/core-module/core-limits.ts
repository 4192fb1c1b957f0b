import { BinaryReader, PREAMBLE_BYTES, sections } from "./binary-reader.ts";
import { CORE_SECTION, type Limits, readCoreModule, readLimits, readTable } from "./core-module.ts";
import { OWN_NAMES } from "./core-name.ts";

/** Under which names {@link limitCoreModule} exports a module's memories: one for each, counted from 0. */
export function memoryExportName(index: number): string {
  return `${OWN_NAMES.memory}${index}`;
}

/** Under which name {@link limitCoreModule} exports the global with that index. */
export function globalExportName(index: number): string {
  return `${OWN_NAMES.global}${index}`;
}

const EXPORTED_MEMORY = 2;
const EXPORTED_GLOBAL = 3;
/** What follows the exports (core specification, section 5.5.2): start, elements, data count, code, data. */
const AFTER_EXPORTS: readonly number[] = [8, 9, 10, 11, 12];

/**
 * Rewrites a core module so that its memories and tables cannot grow past the given maxima, and exports its
 * memories, and tables that can grow, so that they can be measured.
 */
export function limitCoreModule(
  binary: Uint8Array,
  memoryPages: readonly number[],
  tableElements: number,
  globals: readonly number[] = [],
): Uint8Array {
  const { importedMemories } = readCoreModule(binary);
  const exportCount = memoryPages.length + globals.length;
  const exports = [
    ...memoryPages.flatMap((_, index) => [
      ...nameBytes(memoryExportName(index)),
      EXPORTED_MEMORY,
      ...u32Bytes(importedMemories + index),
    ]),
    ...globals.flatMap((index) => [
      ...nameBytes(globalExportName(index)),
      EXPORTED_GLOBAL,
      ...u32Bytes(index),
    ]),
  ];
  const parts: Uint8Array[] = [binary.subarray(0, PREAMBLE_BYTES)];
  let exported = false;
  for (const { id, body, whole } of sections(binary)) {
    const reader = new BinaryReader(body);
    if (!exported && AFTER_EXPORTS.includes(id)) {
      parts.push(section(CORE_SECTION.export, [...u32Bytes(exportCount), ...exports]));
      exported = true;
    }
    if (id === CORE_SECTION.memory) {
      parts.push(rewritten(id, reader, (index) => limitsBytes(readLimits(reader), memoryPages[index] ?? 0)));
    } else if (id === CORE_SECTION.table) {
      parts.push(
        rewritten(id, reader, () => {
          const { type, limits } = readTable(reader);
          return [...type, ...limitsBytes(limits, tableElements)];
        }),
      );
    } else if (id === CORE_SECTION.export) {
      const count = reader.u32();
      const others = body.subarray(reader.at);
      // Sections can be as large as the component: they are joined as bytes, and not as lists of numbers.
      const header = Uint8Array.from(u32Bytes(count + exportCount));
      parts.push(section(id, Buffer.concat([header, others, Uint8Array.from(exports)])));
      exported = true;
    } else {
      parts.push(whole);
    }
  }
  if (!exported) parts.push(section(CORE_SECTION.export, [...u32Bytes(exportCount), ...exports]));
  return Buffer.concat(parts);
}

/** A section whose items are each written anew. */
function rewritten(id: number, reader: BinaryReader, item: (index: number) => readonly number[]): Uint8Array {
  const content: number[] = [];
  let count = 0;
  reader.vector((index) => {
    for (const byte of item(index)) content.push(byte);
    count++;
  });
  return section(id, [...u32Bytes(count), ...content]);
}

function section(id: number, content: Uint8Array | readonly number[]): Uint8Array {
  const bytes = content instanceof Uint8Array ? content : Uint8Array.from(content);
  return Buffer.concat([Uint8Array.from([id, ...u32Bytes(bytes.length)]), bytes]);
}

function limitsBytes({ min, max = Number.POSITIVE_INFINITY }: Limits, most: number): readonly number[] {
  return [1, ...u32Bytes(min), ...u32Bytes(Math.min(max, most))];
}

function nameBytes(name: string): readonly number[] {
  const bytes = Buffer.from(name);
  return [...u32Bytes(bytes.length), ...bytes];
}

function u32Bytes(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? byte | 0x80 : byte);
  } while (rest > 0);
  return bytes;
}
