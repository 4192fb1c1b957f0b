import { open } from "node:fs/promises";
import { getSystemErrorMessage } from "node:util";
import { Composer, type CST, type Document, Lexer, LineCounter, Parser, visit, YAMLParseError } from "yaml";
import { guardFiles } from "../base/guarded-files.ts";
import { atOnce, inSlices, type Steps } from "../base/turns.ts";
import { formatBytes } from "../base/units.ts";
import type { JsonValue } from "../json/value.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";
import type { Shape } from "./shape.ts";
import { type LocatedValue, TreeReader } from "./tree.ts";

/** The keys and list indices from a file's root to a value. */
export type ConfigPath = readonly (string | number)[];

/** The maximum length of a configuration, in UTF-16 code units: 1 MiB of ASCII. */
export const MAX_CONFIG_LENGTH = 1_048_576;

/** How large a file may be, and how it is read. */
export interface SourceBounds {
  /** In UTF-16 code units, and in bytes. */
  readonly length: number;
  /** The maximum number of values, with aliases expanded. */
  readonly values: number;
  /** Whether an integer that a double cannot represent is rounded. Default: it is an error. */
  readonly roundsIntegers?: boolean;
}

/** Aliases can make a short text expand endlessly. This many values are enough for any configuration. */
const CONFIG_BOUNDS: SourceBounds = { length: MAX_CONFIG_LENGTH, values: 100_000 };

/** One syntax error tends to cause more of them, so only the first ones are reported. */
const MAX_SYNTAX_PROBLEMS = 10;

/** A value of a configuration whose shape was checked. */
export class ConfigEntry<Value> {
  /** Frozen. Paths in it are relative to {@link ConfigEntry.file}. */
  readonly value: Value;
  readonly #source: ConfigSource;
  readonly #path: ConfigPath;

  constructor(value: Value, source: ConfigSource, path: ConfigPath) {
    this.value = value;
    this.#source = source;
    this.#path = path;
  }

  /** The name of the file with the entry. */
  get file(): string {
    return this.#source.file;
  }

  /** A problem with a part of the entry: see {@link ConfigSource.problem}. */
  problem(
    path: ConfigPath,
    message: string,
    severity?: ConfigProblem["severity"],
    at?: "key" | "value",
  ): ConfigProblem {
    return this.#source.problem([...this.#path, ...path], message, severity, at);
  }
}

/** A configuration file: a JSON value, and the position of everything in it. */
export class ConfigSource {
  /** The file's name in problems. */
  readonly file: string;
  readonly #lines: LineCounter;
  readonly #root: LocatedValue;

  private constructor(file: string, lines: LineCounter, root: LocatedValue) {
    this.file = file;
    this.#lines = lines;
    this.#root = root;
  }

  /**
   * Parses a YAML 1.2 text, which can also be JSON. It must be a single document without tags.
   *
   * @param file The file's name for problems.
   * @throws {ConfigError} if the text is not valid YAML, is longer than {@link MAX_CONFIG_LENGTH}, repeats a key or has
   *   values that JSON cannot represent.
   */
  static parse(text: string, file: string): ConfigSource {
    return atOnce(ConfigSource.parsing(text, file));
  }

  /** Like {@link ConfigSource.parse}, in steps. */
  static *parsing(text: string, file: string, bounds: SourceBounds = CONFIG_BOUNDS): Steps<ConfigSource> {
    if (text.length > bounds.length) {
      const message = tooLong(bounds);
      throw new ConfigError([{ file, line: 1, column: 1, severity: "error", message }]);
    }
    const lines = new LineCounter();
    const document = yield* readDocument(text.replace(/^\ufeff/, ""), lines);
    yield;
    const reader = new TreeReader((offset, message) => locate(file, lines, offset, message, "error"), bounds);
    const found = [...document.errors, ...document.warnings];
    // Whatever else the parser says of such a text, it says because it gave up.
    const tooDeep = found.find(({ code }) => code === "RESOURCE_EXHAUSTION");
    const flaws = tooDeep === undefined ? found.slice(0, MAX_SYNTAX_PROBLEMS) : [tooDeep];
    if (flaws.length > 0) {
      throw new ConfigError(
        flaws.map(({ code, message, pos: [offset] }) => {
          const said = code === "RESOURCE_EXHAUSTION" ? "nested too deeply" : message;
          const isQuote = code === "MISSING_CHAR" && /closing ["']quote/.test(message);
          return locate(file, lines, isQuote ? startOfText(document, offset) : offset, said, "error");
        }),
      );
    }
    const root = reader.read(document.contents, 0);
    if (reader.problems.length > 0) throw new ConfigError(reader.problems);
    return new ConfigSource(file, lines, root);
  }

  /** The whole value, deeply frozen; `null` for an empty file. */
  get value(): JsonValue {
    return this.#root.value;
  }

  /** Returns the value at a path; `undefined` if none. */
  at(path: ConfigPath): JsonValue | undefined {
    const { found, node } = this.#find(path);
    return found ? node.value : undefined;
  }

  /**
   * Returns a problem with the position of the value at a path. If it does not exist, the position is that of the closest
   * existing parent.
   *
   * @param severity Default: `"error"`.
   * @param at Whether the position is that of the value or of its key. Default: `"value"`.
   */
  problem(
    path: ConfigPath,
    message: string,
    severity: ConfigProblem["severity"] = "error",
    at: "key" | "value" = "value",
  ): ConfigProblem {
    const { found, node } = this.#find(path);
    const offset = found && at === "key" ? node.keyOffset : node.offset;
    return locate(this.file, this.#lines, offset, message, severity);
  }

  /** Checks the value at a path (default: the whole) against a shape. Returns every problem. */
  check(shape: Shape, path: ConfigPath = []): ConfigProblem[] {
    const value = this.at(path);
    if (value === undefined) return [this.problem(path, `'${path.join(".")}' is missing`)];
    return shape(value).map((flaw) => this.problem([...path, ...flaw.path], flaw.message, "error", flaw.at));
  }

  /**
   * Reads the value at a path (default: the whole) as the type that its shape describes.
   *
   * @param problems Receives every mismatch; the result is then `undefined`.
   */
  read<Value>(
    shape: Shape,
    problems: ConfigProblem[],
    path: ConfigPath = [],
  ): ConfigEntry<Value> | undefined {
    const found = this.check(shape, path);
    problems.push(...found);
    return found.length === 0 ? new ConfigEntry(this.at(path) as Value, this, path) : undefined;
  }

  #find(path: ConfigPath): { readonly found: boolean; readonly node: LocatedValue } {
    let node = this.#root;
    for (const key of path) {
      const member = node.members.get(String(key));
      if (member === undefined) return { found: false, node };
      node = member;
    }
    return { found: true, node };
  }
}

/** How many pieces of a text, such as keys and punctuation, are read in a step. */
const STEP_LEXEMES = 1_000;

/** Does what `parseDocument` of the parser does. */
function* readDocument(text: string, lines: LineCounter): Steps<Document> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (++count % STEP_LEXEMES === 0) yield;
  }
  tokens.push(...parser.end());
  yield;
  const composer = new Composer({
    prettyErrors: false,
    stringKeys: true,
    // The tree reader finds duplicate keys. The composer would compare each key with each other.
    uniqueKeys: false,
    resolveKnownTags: false,
    logLevel: "error",
  });
  const [document, second] = composer.compose(tokens, true, text.length);
  if (document === undefined) throw new TypeError("the composer returned no document");
  if (second !== undefined) {
    const [start, end] = second.range;
    document.errors.push(new YAMLParseError([start, end], "MULTIPLE_DOCS", "there are several documents"));
  }
  return document;
}

function locate(
  file: string,
  lines: LineCounter,
  offset: number,
  message: string,
  severity: ConfigProblem["severity"],
): ConfigProblem {
  const { line, col } = lines.linePos(offset);
  return Object.freeze({ file, line: Math.max(line, 1), column: Math.max(col, 1), severity, message });
}

/** The start of the last quoted text before an offset. Where a quote is not closed, the parser points at the end. */
function startOfText(document: Document, offset: number): number {
  let start = offset;
  visit(document, {
    Scalar: (_key, { type, range }) => {
      const isQuoted = type === "QUOTE_DOUBLE" || type === "QUOTE_SINGLE";
      if (isQuoted && range && range[0] <= offset) [start] = range;
    },
  });
  return start;
}

function tooLong({ length }: SourceBounds): string {
  return `the file is longer than ${formatBytes(length)}`;
}

/**
 * Reads a configuration file.
 *
 * @param shownAs The file's name in problems. Default: `path`.
 * @param bounds Default: those of a configuration.
 * @throws {ConfigError} if the file cannot be read or is not UTF-8, and like {@link ConfigSource.parse}.
 */
export async function readConfigFile(
  path: string,
  shownAs: string = path,
  bounds: SourceBounds = CONFIG_BOUNDS,
): Promise<ConfigSource> {
  guardFiles([{ path, access: "read" }]);
  return inSlices(ConfigSource.parsing(await readText(path, shownAs, bounds), shownAs, bounds), {});
}

async function readText(path: string, file: string, bounds: SourceBounds): Promise<string> {
  const refuse = (message: string): never => {
    throw new ConfigError([{ file, line: 1, column: 1, severity: "error", message }]);
  };
  try {
    await using handle = await open(path);
    // One more byte than allowed detects a file that is too long. The size in its metadata may be wrong.
    const buffer = new Uint8Array(bounds.length + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    if (length > bounds.length) return refuse(tooLong(bounds));
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { errno, code } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return refuse("the file is not valid UTF-8");
    return refuse(
      `the file cannot be read: ${errno === undefined ? "unknown reason" : getSystemErrorMessage(errno)}`,
    );
  }
}
