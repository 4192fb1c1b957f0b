import type { JsonValue } from "../../../../json/value.ts";

/** Why a text is not read as TOML. */
export class TomlError extends Error {
  override readonly name = "TomlError";
}

type Table = Map<string, TomlValue>;
type TomlValue = JsonValue | Table | TomlValue[];

/** How deeply arrays and inline tables can be nested. */
const MAX_DEPTH = 50;

const BARE_KEY = /[A-Za-z0-9_-]+/y;
const SPACE = /[ \t]*/y;
/** White space, line breaks and comments, between the items of an array. */
const GAP = /(?:[ \t\r\n]|#[^\n]*)*/y;
const LINE_END = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
/** Numbers, booleans and dates, of which none is a setting of a server. */
const OTHER = /[+\-\w.:]+(?: \d{2}:[\w.:+-]+)?/y;
const LITERAL = /'([^'\n]*)'/y;
const BASIC = /"((?:[^"\\\n]|\\.)*)"/y;
const LONG_LITERAL = /'''\r?\n?([\s\S]*?'{0,2})'''(?!')/y;
const LONG_BASIC = /"""\r?\n?((?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{0,2})"""(?!")/y;
const ESCAPE = /\\(?:(\r?\n|[ \t]+\r?\n)\s*|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S]))/g;
const ESCAPED: Readonly<Record<string, string>> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\u001b",
  '"': '"',
  "\\": "\\",
};

/**
 * Reads TOML as far as configs of MCP clients use it: tables, arrays and strings as they are, and numbers, booleans and dates as their texts.
 *
 * @throws {TomlError} if it is not valid. The message names the line and repeats nothing of it.
 */
export function parseToml(text: string): JsonValue {
  const reader = new Reader(text);
  const root: Table = new Map();
  let table = root;
  while (!reader.isAtEnd) {
    reader.take(SPACE);
    if (reader.take(LINE_END) !== undefined) continue;
    if (reader.skip("[[")) {
      table = tableAt(root, reader.key("]]"), true, reader);
    } else if (reader.skip("[")) {
      table = tableAt(root, reader.key("]"), false, reader);
    } else assign(table, reader);
    if (reader.take(LINE_END) === undefined) reader.fail();
  }
  return plain(root);
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  fail(): never {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    throw new TomlError(`line ${line} is not valid TOML`);
  }

  /** Returns what a sticky pattern matches here: its first group, or all. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    // An empty match of the end of a line is none, except at the end of the text.
    if (found === null || (pattern === LINE_END && found[0] === "" && !this.isAtEnd)) return undefined;
    this.#at += found[0].length;
    return found[1] ?? found[0];
  }

  skip(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  /** Reads a dotted key up to a word, which is skipped. */
  key(end: string): readonly string[] {
    const parts: string[] = [];
    do {
      this.take(SPACE);
      const basic = this.take(BASIC);
      const part = basic === undefined ? (this.take(LITERAL) ?? this.take(BARE_KEY)) : unescaped(basic, this);
      if (part === undefined) return this.fail();
      parts.push(part);
      this.take(SPACE);
    } while (this.skip("."));
    return this.skip(end) ? parts : this.fail();
  }

  value(depth: number): TomlValue {
    if (depth > MAX_DEPTH) return this.fail();
    const literal = this.take(LONG_LITERAL);
    if (literal !== undefined) return literal;
    const basic = this.take(LONG_BASIC) ?? this.take(BASIC);
    if (basic !== undefined) return unescaped(basic, this);
    const plainText = this.take(LITERAL);
    if (plainText !== undefined) return plainText;
    if (this.skip("[")) return this.#array(depth);
    if (this.skip("{")) return this.#inlineTable(depth);
    return this.take(OTHER) ?? this.fail();
  }

  #array(depth: number): TomlValue[] {
    const items: TomlValue[] = [];
    for (this.take(GAP); !this.skip("]"); this.take(GAP)) {
      items.push(this.value(depth + 1));
      this.take(GAP);
      if (!this.skip(",") && !this.#isNext("]")) this.fail();
    }
    return items;
  }

  #inlineTable(depth: number): Table {
    const table: Table = new Map();
    for (this.take(GAP); !this.skip("}"); this.take(GAP)) {
      assign(table, this, depth + 1);
      this.take(GAP);
      if (!this.skip(",") && !this.#isNext("}")) this.fail();
    }
    return table;
  }

  #isNext(word: string): boolean {
    return this.#text.startsWith(word, this.#at);
  }
}

function unescaped(text: string, reader: Reader): string {
  return text.replace(ESCAPE, (_all, fold?: string, short?: string, long?: string, one?: string) => {
    if (fold !== undefined) return "";
    const code = short ?? long;
    if (code === undefined) return ESCAPED[one ?? ""] ?? reader.fail();
    const point = Number.parseInt(code, 16);
    return point > 0x10ffff ? reader.fail() : String.fromCodePoint(point);
  });
}

function assign(table: Table, reader: Reader, depth = 0): void {
  const parts = reader.key("=");
  const name = parts.at(-1) as string;
  const target = tableAt(table, parts.slice(0, -1), false, reader);
  if (target.has(name)) reader.fail();
  reader.take(SPACE);
  target.set(name, reader.value(depth));
}

/** Finds or makes a table; for an array of tables, a new last one. */
function tableAt(root: Table, path: readonly string[], isItem: boolean, reader: Reader): Table {
  let table = root;
  for (const [index, part] of path.entries()) {
    const isNewItem = isItem && index === path.length - 1;
    let next = table.get(part);
    if (next === undefined) {
      next = isNewItem ? [] : new Map();
      table.set(part, next);
    }
    if (Array.isArray(next)) {
      if (isNewItem) next.push(new Map());
      next = next.at(-1);
    } else if (isNewItem) reader.fail();
    if (!(next instanceof Map)) reader.fail();
    table = next;
  }
  return table;
}

/** As JSON, in which a member `__proto__` is one like any other. */
function plain(value: TomlValue): JsonValue {
  if (value instanceof Map)
    return Object.fromEntries(Array.from(value, ([name, each]) => [name, plain(each)])) as JsonValue;
  return Array.isArray(value) ? value.map(plain) : (value as JsonValue);
}
