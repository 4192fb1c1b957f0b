import { LineCounter, parseDocument } from "yaml";
import type { JsonValue } from "../json/value.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";
import type { Shape } from "./shape.ts";
import { type LocatedValue, TreeReader } from "./tree.ts";

/** Keys and list indices that lead from a file's root to a value. */
export type ConfigPath = readonly (string | number)[];

/** The longest text of a configuration, in UTF-16 code units: 1 MiB of ASCII. */
export const MAX_CONFIG_LENGTH = 1_048_576;

/** One error tends to make more of them: these are enough to mend a text. */
const MAX_SYNTAX_PROBLEMS = 10;

/** A configuration as an operator wrote it: a JSON value, and the position of everything in it. */
export class ConfigSource {
  /** The file's name as the problems show it. */
  readonly file: string;
  readonly #lines: LineCounter;
  readonly #root: LocatedValue;

  private constructor(file: string, lines: LineCounter, root: LocatedValue) {
    this.file = file;
    this.#lines = lines;
    this.#root = root;
  }

  /**
   * Reads a text of YAML 1.2, of which JSON is a part: one document, without tags.
   *
   * @param file The file's name, for the problems.
   * @throws {ConfigError} when the text is no YAML, is longer than {@link MAX_CONFIG_LENGTH}, repeats a key,
   *   or holds what JSON cannot express.
   */
  static parse(text: string, file: string): ConfigSource {
    if (text.length > MAX_CONFIG_LENGTH) {
      const message = "the file is longer than 1 MiB";
      throw new ConfigError([{ file, line: 1, column: 1, severity: "error", message }]);
    }
    const lines = new LineCounter();
    const document = parseDocument(text.replace(/^\ufeff/, ""), {
      lineCounter: lines,
      prettyErrors: false,
      stringKeys: true,
      // The tree reader looks for repeated keys; the parser would compare each with each.
      uniqueKeys: false,
      resolveKnownTags: false,
      logLevel: "error",
    });
    const reader = new TreeReader((offset, message) => locate(file, lines, offset, message, "error"));
    const flaws = [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_PROBLEMS);
    if (flaws.length > 0) {
      throw new ConfigError(
        flaws.map(({ code, message, pos: [offset] }) => {
          const said = code === "RESOURCE_EXHAUSTION" ? "nested too deeply" : message;
          return locate(file, lines, offset, said, "error");
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

  /** The value at a path; `undefined` where there is none. */
  at(path: ConfigPath): JsonValue | undefined {
    const { found, node } = this.#find(path);
    return found ? node.value : undefined;
  }

  /**
   * A problem with what stands at a path; where nothing stands, with the nearest thing around it.
   *
   * @param severity Default: `"error"`.
   * @param at Whether to point at the value or at its key. Default: `"value"`.
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

  /** Holds the value at a path (default: the whole) against a shape; returns every problem. */
  check(shape: Shape, path: ConfigPath = []): ConfigProblem[] {
    const value = this.at(path);
    if (value === undefined) return [this.problem(path, `'${path.join(".")}' is missing`)];
    return shape(value).map((flaw) => this.problem([...path, ...flaw.path], flaw.message, "error", flaw.at));
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
