import { concatInSlices } from "../../../base/slices.ts";
import { BinaryReader, CORE_SECTION, type Section, sectionBytes, sections, u32Bytes } from "./binary.ts";

/** The order of sections (core specification, section 5.5.17). Custom sections can be anywhere. */
const ORDER: readonly number[] = [
  CORE_SECTION.type,
  CORE_SECTION.import,
  CORE_SECTION.function,
  CORE_SECTION.table,
  CORE_SECTION.memory,
  CORE_SECTION.tag,
  CORE_SECTION.global,
  CORE_SECTION.export,
  CORE_SECTION.start,
  CORE_SECTION.element,
  CORE_SECTION.dataCount,
  CORE_SECTION.code,
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
 * @param replace Returns the parts that replace a section, none to remove it, or `undefined` to keep it. Custom sections
 *   without a meaning here are not asked about.
 * @param append Items to append, by the section's id. A missing section is added.
 * @param last Returns what goes behind everything.
 */
export function changeSections(
  binary: Uint8Array,
  replace: (section: Section) => readonly Uint8Array[] | undefined,
  append: ReadonlyMap<number, AppendedItems>,
  last: () => readonly Uint8Array[] = () => [],
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const left = ORDER.filter((id) => append.has(id));
  const addTo = (items: Uint8Array): void => {
    const id = left.shift() ?? 0;
    parts.push(withItems(id, items, append.get(id)));
  };
  /** Up to where the original was taken. Sections that stay are copied together. */
  let taken = 0;
  const takeUntil = (end: number): void => {
    if (end > taken) parts.push(binary.subarray(taken, end));
  };
  const addMissing = (before: number, at: number): void => {
    while (left[0] !== undefined && ORDER.indexOf(left[0]) < before) {
      takeUntil(at);
      taken = Math.max(taken, at);
      addTo(NO_ITEMS);
    }
  };
  for (const section of sections(binary)) {
    const { id, start, end, body } = section;
    addMissing(ORDER.indexOf(id), start);
    const isAppendedTo = id === left[0];
    const replaced = isAppendedTo ? undefined : replace(section);
    if (!isAppendedTo && replaced === undefined) continue;
    takeUntil(start);
    taken = end;
    if (replaced === undefined) addTo(body);
    else parts.push(...replaced);
  }
  addMissing(ORDER.length, binary.length);
  takeUntil(binary.length);
  parts.push(...last());
  return concatInSlices(parts);
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
