import { MAX_SCHEMA_DEPTH } from "../bounds.ts";

/** A type in the syntax of a catalogue: `list[str]`, `Map<String, Integer>`, `[]int`, `string | null`. */
export type TypeExpression =
  /** A name without its packages, and its arguments in brackets. */
  | { readonly kind: "name"; readonly name: string; readonly args: readonly TypeExpression[] }
  | { readonly kind: "list"; readonly item: TypeExpression }
  | { readonly kind: "map"; readonly value: TypeExpression }
  | { readonly kind: "tuple"; readonly items: readonly TypeExpression[] }
  | { readonly kind: "union"; readonly options: readonly TypeExpression[] }
  | { readonly kind: "literal"; readonly value: string | number }
  /** `...`, for any number of items. */
  | { readonly kind: "rest" };

/** A text is not a valid type expression. `message` says why. */
export class TypeExpressionError extends Error {
  override readonly name = "TypeExpressionError";
}

const MAX_LENGTH = 512;
const TOKEN =
  /\s*(?:([A-Za-z_$][\w$]*(?:-[A-Za-z]+)*(?:(?:\.|::)[A-Za-z_$][\w$]*)*)|("[^"\\]*"|'[^'\\]*')|(-?\d+(?:\.\d+)?)|(\.\.\.|[[\]<>(){},|?*&!]))/y;
const CLOSERS: Readonly<Record<string, string>> = { "[": "]", "<": ">", "(": ")" };
const NULL: TypeExpression = { kind: "name", name: "null", args: [] };

/**
 * Parses a type expression.
 *
 * ```text
 * union   = postfix { ("|" | "or") postfix }
 * postfix = prefix { "[]" | "[" number "]" | "?" | "!" }
 * prefix  = ("[]" | "[" number "]" | "*" | "&") prefix | primary
 * primary = words [ "of" union ] | name brackets | "map" "[" union "]" prefix
 *         | literal | "..." | "(" union ")" | "[" union { "," union } "]"
 * ```
 *
 * @throws {TypeExpressionError} if the text is not valid.
 */
export function parseTypeExpression(text: string): TypeExpression {
  if (text.length > MAX_LENGTH) throw new TypeExpressionError(`longer than ${MAX_LENGTH} characters`);
  return new Parser(tokenize(text)).parse();
}

interface Token {
  readonly kind: "word" | "string" | "number" | "symbol" | "end";
  readonly text: string;
}

function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const source = text.trim();
  const kinds = ["word", "string", "number", "symbol"] as const;
  for (let at = 0; at < source.length; ) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(source);
    if (found === null) throw new TypeExpressionError("unexpected character");
    at = TOKEN.lastIndex;
    const index = found.findIndex((group, position) => position > 0 && group !== undefined);
    tokens.push({ kind: kinds[index - 1] ?? "symbol", text: found[index] ?? "" });
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): TypeExpression {
    const expression = this.#union();
    if (this.#peek().kind !== "end") throw this.#unexpected();
    return expression;
  }

  #peek(ahead = 0): Token {
    return this.#tokens[this.#at + ahead] ?? { kind: "end", text: "" };
  }

  #takes(text: string): boolean {
    const isNext = this.#peek().kind !== "string" && this.#peek().text === text;
    if (isNext) this.#at++;
    return isNext;
  }

  #expect(text: string): void {
    if (!this.#takes(text)) throw this.#unexpected();
  }

  #unexpected(): TypeExpressionError {
    const { kind, text } = this.#peek();
    return new TypeExpressionError(kind === "end" ? "unexpected end" : `unexpected '${text.slice(0, 32)}'`);
  }

  #union(): TypeExpression {
    if (++this.#depth > MAX_SCHEMA_DEPTH) throw new TypeExpressionError("nested too deeply");
    const options = [this.#postfix()];
    while (this.#takes("|") || this.#takes("or")) options.push(this.#postfix());
    this.#depth--;
    return options.length === 1 ? (options[0] ?? NULL) : { kind: "union", options };
  }

  #postfix(): TypeExpression {
    let expression = this.#prefix();
    for (;;) {
      if (this.#takes("?")) expression = { kind: "union", options: [expression, NULL] };
      else if (this.#takesList()) expression = { kind: "list", item: expression };
      else if (!this.#takes("!")) return expression;
    }
  }

  /** `[]` or `[3]`. */
  #takesList(): boolean {
    const length = this.#peek(1).kind === "number" ? 1 : 0;
    if (this.#peek().text !== "[" || this.#peek(1 + length).text !== "]") return false;
    this.#at += 2 + length;
    return true;
  }

  #prefix(): TypeExpression {
    if (++this.#depth > MAX_SCHEMA_DEPTH) throw new TypeExpressionError("nested too deeply");
    const isList = this.#takesList();
    const expression = isList || this.#takes("*") || this.#takes("&") ? this.#prefix() : this.#primary();
    this.#depth--;
    return isList ? { kind: "list", item: expression } : expression;
  }

  #primary(): TypeExpression {
    const { kind, text } = this.#peek();
    if (kind === "end") throw this.#unexpected();
    if (kind === "word") return this.#name();
    this.#at++;
    if (kind === "string") return { kind: "literal", value: text.slice(1, -1) };
    if (kind === "number") return { kind: "literal", value: Number(text) };
    if (text === "...") return { kind: "rest" };
    if (text === "(" || text === "[") {
      const items = this.#list(CLOSERS[text] ?? "");
      return text === "(" && items.length === 1 ? (items[0] ?? NULL) : { kind: "tuple", items };
    }
    this.#at--;
    throw this.#unexpected();
  }

  #name(): TypeExpression {
    const words: string[] = [];
    while (this.#peek().kind === "word" && !["of", "or"].includes(this.#peek().text)) {
      words.push(this.#peek().text);
      this.#at++;
    }
    const name = words.join(" ").split(/\.|::/).at(-1) ?? "";
    if (this.#takes("of")) return { kind: "name", name, args: [this.#union()] };
    // Go's `interface{}` and `struct{}`.
    if (this.#takes("{")) this.#expect("}");
    const opener = this.#peek().text;
    const closer = this.#takesListNext() ? undefined : CLOSERS[opener];
    if (this.#peek().kind !== "symbol" || closer === undefined) return { kind: "name", name, args: [] };
    this.#at++;
    const args = this.#list(closer);
    // In Go, the type of a map's values follows the brackets.
    const hasValueType =
      name.toLowerCase() === "map" && opener === "[" && args.length === 1 && this.#startsType();
    return hasValueType ? { kind: "map", value: this.#prefix() } : { kind: "name", name, args };
  }

  /** Returns whether the next brackets mark a list, and do not enclose the name's arguments. */
  #takesListNext(): boolean {
    return this.#peek().text === "[" && (this.#peek(1).text === "]" || this.#peek(1).kind === "number");
  }

  #startsType(): boolean {
    const { kind, text } = this.#peek();
    return kind === "word" ? text !== "or" : kind === "symbol" && ["[", "*", "("].includes(text);
  }

  #list(closer: string): readonly TypeExpression[] {
    const items: TypeExpression[] = [];
    while (!this.#takes(closer)) {
      items.push(this.#union());
      if (this.#takes(closer)) break;
      this.#expect(",");
    }
    return items;
  }
}
