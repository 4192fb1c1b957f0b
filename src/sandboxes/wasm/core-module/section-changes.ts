import { BinaryReader, CORE_SECTION, PREAMBLE_BYTES, type Section, sections } from "./binary-reader.ts";
import { sectionBytes, u32Bytes } from "./binary-writer.ts";

/** The order of sections (core specification, section 5.5.17). Custom sections can be anywhere. */
const ORDER: readonly number[] = [
  ...[
    CORE_SECTION.type,
    CORE_SECTION.import,
    CORE_SECTION.function,
    CORE_SECTION.table,
    CORE_SECTION.memory,
    CORE_SECTION.tag,
  ],
  ...[
    CORE_SECTION.global,
    CORE_SECTION.export,
    CORE_SECTION.start,
    CORE_SECTION.element,
    CORE_SECTION.dataCount,
    CORE_SECTION.code,
  ],
  CORE_SECTION.data,
];

/** Items to append to a section. They do not change the indices of the module's own items. */
export interface AppendedItems {
  readonly count: number;
  readonly bytes: readonly number[];
}

/**
 * Changes sections of a core module.
 *
 * @param replace Returns the bytes that replace a section, no bytes to remove it, or `undefined` to keep it.
 * @param append Items to append, by the section's id. A missing section is added.
 */
export function changeSections(
  binary: Uint8Array,
  replace: (section: Section) => Uint8Array | undefined,
  append: ReadonlyMap<number, AppendedItems>,
): Uint8Array {
  const parts: Uint8Array[] = [binary.subarray(0, PREAMBLE_BYTES)];
  const left = ORDER.filter((id) => append.has(id));
  const addMissing = (before: number): void => {
    while (left[0] !== undefined && ORDER.indexOf(left[0]) < before) add(NO_ITEMS);
  };
  const add = (items: Uint8Array): void => {
    const id = left.shift() ?? 0;
    parts.push(withItems(id, items, append.get(id)));
  };
  for (const section of sections(binary)) {
    addMissing(ORDER.indexOf(section.id));
    if (section.id === left[0]) add(section.body);
    else parts.push(replace(section) ?? section.whole);
  }
  addMissing(ORDER.length);
  return Buffer.concat(parts);
}

const NO_ITEMS = Uint8Array.of(0);

function withItems(
  id: number,
  items: Uint8Array,
  appended: AppendedItems = { count: 0, bytes: [] },
): Uint8Array {
  const reader = new BinaryReader(items);
  const count = reader.u32();
  return sectionBytes(id, u32Bytes(count + appended.count), reader.rest(), appended.bytes);
}
