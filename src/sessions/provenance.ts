import { hash } from "node:crypto";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import {
  type ArgumentSources,
  type FieldSource,
  fieldKey,
  type KnownSource,
  type RowField,
  rowKeys,
  type ToolField,
  type TrackedFields,
  type ValueProvenance,
  type ValueSource,
} from "../policy/call-history.ts";
import { fieldValues, rowsAt, valuesAt } from "../policy/field-values.ts";
import { MAX_REFERENCE_TEXT, referencesIn } from "../policy/references.ts";
import { MAX_WORDS, standsWhole, UserWords } from "../policy/user-words.ts";
import { fold, locatedIn, ResultOrigins } from "./result-origins.ts";

/**
 * Maximum number of values that a session remembers. From then on, it learns no more, and what it does not
 * know is unclear.
 */
export const MAX_VALUES = 50_000;

/**
 * Maximum number of UTF-16 code units of one call's arguments that are looked at. A session learns no more
 * after a longer call.
 */
const MAX_NOTED = 1_048_576;

/** Parts of long arguments overlap by this much, so that what is between them is in one of them. */
const OVERLAP = 4_096;

/** Other values have no reference, or a disguised one, which is not learnt. */
const MAY_REFER = /[@.:\d\\]/;
const NOTHING: TrackedFields = { sources: [], contents: [] };

/** A call that succeeded. */
export interface ObservedCall {
  readonly toolName: string;
  readonly arguments: JsonValue;
  readonly output: JsonValue;
}

/**
 * Where the values of one session came from. It remembers the users' words, and the fields of results that the policy
 * tracks: values to be compared by their digests.
 *
 * A value that the model gave to a tool of its own, without a source, is never learnt from a result: the tool may have
 * stored it, and return it as if it were data of its own (create a contact, list the contacts).
 */
export class ProvenanceLedger implements ValueProvenance {
  readonly #tracked: () => TrackedFields | undefined;
  readonly #words: ConversationWords;
  readonly #values = new Map<string, ValueSet>();
  readonly #contents = new Map<string, ContentValues>();
  /** Values of arguments without a known source, folded. */
  readonly #tainted = new ValueSet();
  readonly #most: number;
  /** For records; `undefined` if they do not say where arguments came from. */
  readonly #origins: ResultOrigins | undefined;
  #isWhole = true;
  /** Whether the session may have had calls before. */
  readonly #isLate: boolean;
  /** The tools that were called. */
  readonly #called = new Set<string>();
  /** Fields that were tracked, and whether from the first call of their tool on. */
  readonly #fields = new Map<string, boolean>();

  /**
   * @param tracked What the policy tracks now. What it did not track when a call ended is not known.
   * @param isLate Whether the session may have had calls before: those of an earlier process, or of before a policy used
   * the history. What they returned is not known. Default: it had none.
   * @param recordsSources Whether {@link sourcesOf} is used, and every result learnt. Default: only what the policy tracks.
   * @param most How many values are learnt; 0 if no result can be a source. Default: {@link MAX_VALUES}.
   */
  constructor(
    tracked: () => TrackedFields | undefined,
    {
      isLate = false,
      most = MAX_VALUES,
      recordsSources = false,
    }: { readonly isLate?: boolean; readonly most?: number; readonly recordsSources?: boolean } = {},
  ) {
    this.#tracked = tracked;
    this.#words = new ConversationWords(isLate);
    this.#isLate = isLate;
    this.#most = most;
    // A tool may return what a call that is not known gave to it.
    this.#origins = recordsSources && !isLate ? new ResultOrigins() : undefined;
  }

  /** Remembers what a user said. */
  observeUserText(text: string): void {
    this.#words.add(text);
  }

  /** Notes the arguments of a call that is about to run. */
  noteArguments(input: JsonValue): void {
    const { sources } = this.#tracked() ?? NOTHING;
    if ((sources.length === 0 && this.#origins === undefined) || !this.#isWhole) return;
    let length = 0;
    for (const value of [...leavesOf(input), ...namesOf(input)]) {
      length += typeof value === "string" ? value.length : 1;
      if (length > MAX_NOTED) this.#isWhole = false;
      this.#taint(value);
    }
  }

  /** Learns the values of a call that succeeded. */
  observe({ toolName, arguments: input, output }: ObservedCall): void {
    const { sources, contents, untrusted = [] } = this.#tracked() ?? NOTHING;
    for (const field of [...sources, ...contents]) {
      const key = fieldKey(field);
      if (!this.#fields.has(key)) this.#fields.set(key, !this.#called.has(toolOf(field)));
    }
    this.#called.add(toolName);
    for (const source of sources) {
      if ("tool" in source ? source.tool !== toolName : source.lookup !== toolName) continue;
      if ("tool" in source || this.#isUsers(input)) this.#learn(source, output);
    }
    for (const field of contents) if (field.tool === toolName) this.#learnContent(field, output);
    if (this.#isWhole)
      this.#origins?.learn(toolName, output, untrusted, (value) => this.#tainted.has("value", fold(value)));
  }

  /** Returns where the texts and numbers of an input came from. */
  sourcesOf(input: JsonValue): ArgumentSources {
    const sources: Record<string, KnownSource> = {};
    for (const { pointer, value } of locatedIn(input)) {
      const source = this.#words.have(value) === true ? "user" : this.#origins?.find(value);
      if (source !== undefined) sources[pointer] = source;
    }
    return sources;
  }

  isFrom(
    source: ValueSource,
    value: string | number,
    row: readonly (string | number)[] = [],
  ): boolean | undefined {
    if (source === "user") return this.#words.have(value);
    if ("row" in source) return this.#has(source, "row", JSON.stringify([...row, value]));
    return this.#has(source, "value", value);
  }

  isReferenceFrom(source: ValueSource, reference: string): boolean | undefined {
    if (source === "user") return this.#words.haveReference(reference);
    return this.#has(source, "reference", reference);
  }

  holdsValueOf(field: ToolField, text: string): boolean | undefined {
    const values = this.#contents.get(fieldKey(field));
    const isIn = values === undefined ? false : values.areIn(text);
    return isIn === false && !this.#isTrackedWhole(field) ? undefined : isIn;
  }

  #has(source: FieldSource, kind: ValueKind, value: string | number): boolean | undefined {
    if (this.#values.get(fieldKey(source))?.has(kind, value)) return true;
    return this.#isWhole && this.#isTrackedWhole(source) ? false : undefined;
  }

  /** Whether a field was tracked in all calls of its tool in the session. */
  #isTrackedWhole(field: FieldSource): boolean {
    if (this.#isLate) return false;
    return this.#fields.get(fieldKey(field)) ?? !this.#called.has(toolOf(field));
  }

  #learn(source: FieldSource, output: JsonValue): void {
    if ("row" in source) {
      this.#learnRows(source, output);
      return;
    }
    const key = fieldKey(source);
    let count = 0;
    for (const value of fieldValues(output, source.field)) {
      if (++count > this.#most) this.#isWhole = false;
      const references = MAY_REFER.test(String(value)) ? [...referencesIn(String(value))] : [];
      if (this.#tainted.has("value", fold(value))) continue;
      if (references.some((reference) => this.#tainted.has("reference", fold(reference)))) continue;
      if (!this.#hasRoom()) return;
      const values = this.#values.get(key) ?? new ValueSet();
      this.#values.set(key, values);
      values.add("value", value);
      for (const reference of references) values.add("reference", reference);
    }
  }

  /** By what a row is found may have come from anywhere: the tool says what belongs to it. */
  #learnRows(source: RowField, output: JsonValue): void {
    const key = fieldKey(source);
    let count = 0;
    for (const row of rowsAt(output, [...rowKeys(source), source.field])) {
      if (++count > this.#most) this.#isWhole = false;
      if (this.#tainted.has("value", fold(row.at(-1) as string | number))) continue;
      if (!this.#hasRoom()) return;
      const values = this.#values.get(key) ?? new ValueSet();
      this.#values.set(key, values);
      values.add("row", JSON.stringify(row));
    }
  }

  #learnContent(field: ToolField, output: JsonValue): void {
    const key = fieldKey(field);
    const values = this.#contents.get(key) ?? new ContentValues();
    this.#contents.set(key, values);
    for (const value of valuesAt(output, field.field)) values.add(String(value));
  }

  #taint(value: string | number): void {
    for (const each of fieldValues(value, "")) {
      if (!this.#hasRoom()) return;
      if (!this.#isKnown("value", each)) this.#tainted.add("value", fold(each));
    }
    const text = String(value);
    for (let start = 0; start < text.length; start += MAX_REFERENCE_TEXT - OVERLAP) {
      for (const reference of referencesIn(text.slice(start, start + MAX_REFERENCE_TEXT))) {
        if (!this.#hasRoom()) return;
        if (!this.#isKnown("reference", reference)) this.#tainted.add("reference", fold(reference));
      }
    }
  }

  #isKnown(kind: ValueKind, value: string | number): boolean {
    const isSaid = kind === "value" ? this.#words.have(value) : this.#words.haveReference(String(value));
    if (isSaid === true) return true;
    for (const values of this.#values.values()) if (values.has(kind, value)) return true;
    return kind === "value" && this.#origins?.find(value) !== undefined;
  }

  #hasRoom(): boolean {
    if (this.#isWhole) {
      let count = this.#tainted.size;
      for (const { size } of this.#values.values()) count += size;
      this.#isWhole = count < this.#most;
    }
    return this.#isWhole;
  }

  /** Whether the users said every text and number of an input, and there is at least one. */
  #isUsers(input: JsonValue): boolean {
    const leaves = [...leavesOf(input)];
    return leaves.length > 0 && leaves.every((value) => this.#words.have(value) === true);
  }
}

function toolOf(field: FieldSource): string {
  return "tool" in field ? field.tool : field.lookup;
}

/** Yields the names of members in a value: a tool may return those of a map as values. */
function* namesOf(value: JsonValue): Generator<string> {
  if (Array.isArray(value)) for (const each of value) yield* namesOf(each);
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      yield name;
      if (member !== undefined) yield* namesOf(member);
    }
  }
}

/** Yields the texts and numbers of a value. */
function* leavesOf(value: JsonValue): Generator<string | number> {
  if (typeof value === "string" || typeof value === "number") yield value;
  else if (Array.isArray(value)) for (const each of value) yield* leavesOf(each);
  else if (isJsonObject(value)) {
    for (const member of Object.values(value)) if (member !== undefined) yield* leavesOf(member);
  }
}

/** Maximum number of UTF-16 code units of users' words that a session remembers. */
const MAX_REMEMBERED_CHARS = 4 * MAX_WORDS;

/** What the users said in the turns of a session. The oldest is forgotten first. */
class ConversationWords {
  readonly #remembered: UserWords[] = [];
  #length = 0;
  #isWhole: boolean;

  /** @param isLate Whether users may have said something before. */
  constructor(isLate: boolean) {
    this.#isWhole = !isLate;
  }

  add(text: string): void {
    if (text.length > MAX_WORDS) {
      this.#isWhole = false;
      return;
    }
    this.#remembered.push(new UserWords(text));
    this.#length += text.length;
    while (this.#length > MAX_REMEMBERED_CHARS) {
      this.#length -= this.#remembered.shift()?.text.length ?? 0;
      this.#isWhole = false;
    }
  }

  /** Whether the words have a value; `undefined` if words that are not remembered could, or there are none. */
  have(value: string | number): boolean | undefined {
    return this.#any((words) => words.have(value));
  }

  /** The same for a link, address or account number. */
  haveReference(reference: string): boolean | undefined {
    return this.#any((words) => words.haveReference(reference));
  }

  #any(test: (words: UserWords) => boolean): boolean | undefined {
    if (this.#remembered.some(test)) return true;
    return this.#isWhole && this.#remembered.length > 0 ? false : undefined;
  }
}

/** A whole value, a link, address or account number in one, or the values of a row. */
type ValueKind = "value" | "reference" | "row";

/** Values that are remembered by their digests, apart from each other by their kind. */
class ValueSet {
  readonly #digests = new Set<string>();

  get size(): number {
    return this.#digests.size;
  }

  has(kind: ValueKind, value: string | number): boolean {
    return this.#digests.has(digestOf(kind, value));
  }

  add(kind: ValueKind, value: string | number): void {
    this.#digests.add(digestOf(kind, value));
  }
}

function digestOf(kind: ValueKind, value: string | number): string {
  return hash("sha256", `${kind} ${typeof value} ${value}`, "base64");
}

/** Maximum number of UTF-16 code units of values that a session remembers to look for in texts. */
const MAX_KEPT = 262_144;

/** Shorter values are looked for as words: they would be in every text. */
const MIN_SQUEEZED = 4;
const SPACING = /[^\p{L}\p{N}]+/gu;

/** Values of one field, to be looked for in texts. They are stored as they are: a digest cannot be looked for. */
class ContentValues {
  readonly #squeezed = new Set<string>();
  readonly #short = new Set<string>();
  #length = 0;
  #isWhole = true;

  add(value: string): void {
    const squeezed = squeeze(value);
    if (squeezed === "" || this.#squeezed.has(squeezed)) return;
    if (this.#length + value.length > MAX_KEPT) {
      this.#isWhole = false;
      return;
    }
    this.#length += value.length;
    if (squeezed.length < MIN_SQUEEZED) this.#short.add(normalized(value).trim());
    else this.#squeezed.add(squeezed);
  }

  /** Whether a text contains one of the values; `undefined` if it could contain one that is not remembered. */
  areIn(text: string): boolean | undefined {
    const squeezed = squeeze(text);
    for (const value of this.#squeezed) if (squeezed.includes(value)) return true;
    const folded = this.#short.size === 0 ? "" : normalized(text);
    for (const value of this.#short) if (standsWhole(folded, value)) return true;
    return this.#isWhole ? false : undefined;
  }
}

/** A text without case, blanks and punctuation: `0123-4567` and `01 23 45 67` are the same. */
function squeeze(text: string): string {
  return normalized(text).replace(SPACING, "");
}

function normalized(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
