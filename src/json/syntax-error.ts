/** Where and why a text is no JSON (RFC 8259). */
export interface JsonSyntaxError {
  readonly reason: "unexpected token" | "unexpected end";
  /** Index of the first UTF-16 code unit that cannot continue a JSON text. */
  readonly position: number;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;
const WHITESPACE = /[ \t\n\r]*/y;
/** Plain characters and escapes; no more at once than the engine remembers without effort. */
const CHARACTERS = /(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})){1,512}/y;

/**
 * Finds the first error of a text that `JSON.parse` refused; `undefined` when there is none. V8's own message
 * names no position for most errors, and quotes the text.
 */
export function locateSyntaxError(text: string): JsonSyntaxError | undefined {
  return new Scanner(text).scan();
}

/** Walks a text with an explicit stack: depth is the sender's choice. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): JsonSyntaxError | undefined {
    const closers: ("}" | "]")[] = [];
    for (;;) {
      this.#take(WHITESPACE);
      const opener = this.#text[this.#at];
      if (opener === "{" || opener === "[") {
        this.#at++;
        this.#take(WHITESPACE);
        const closer = opener === "{" ? "}" : "]";
        if (this.#text[this.#at] !== closer) {
          closers.push(closer);
          if (closer === "}" && !this.#memberName()) return this.#error();
          continue;
        }
        this.#at++;
      } else if (!this.#scalar(opener)) return this.#scalarError();
      // A value has ended: close what it closes, until a comma opens the next one.
      for (;;) {
        this.#take(WHITESPACE);
        const closer = closers.at(-1);
        const next = this.#text[this.#at];
        if (closer === undefined) return next === undefined ? undefined : this.#error();
        if (next === ",") {
          this.#at++;
          if (closer === "}" && !this.#memberName()) return this.#error();
          break;
        }
        if (next !== closer) return this.#error();
        this.#at++;
        closers.pop();
      }
    }
  }

  /** Takes what matches here; tells whether that was anything. */
  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    const moved = pattern.lastIndex > this.#at;
    this.#at = pattern.lastIndex;
    return moved;
  }

  #scalar(first: string | undefined): boolean {
    if (first === '"') return this.#string();
    return first !== undefined && "-0123456789".includes(first) ? this.#number() : this.#take(LITERAL);
  }

  #memberName(): boolean {
    this.#take(WHITESPACE);
    if (!this.#string()) return false;
    this.#take(WHITESPACE);
    if (this.#text[this.#at] !== ":") return false;
    this.#at++;
    return true;
  }

  #string(): boolean {
    if (this.#text[this.#at] !== '"') return false;
    this.#at++;
    while (this.#take(CHARACTERS));
    if (this.#text[this.#at] !== '"') return this.#insideEscape();
    this.#at++;
    return true;
  }

  /** A broken escape is wrong at its first wrong character, not at its backslash. */
  #insideEscape(): false {
    if (this.#text[this.#at] === "\\") {
      this.#at++;
      if (this.#text[this.#at] === "u") {
        this.#at++;
        while (/[\da-fA-F]/.test(this.#text[this.#at] ?? "")) this.#at++;
      }
    }
    return false;
  }

  /** A number; false where it breaks off in its fraction or exponent, as `1.` and `1e+` do. */
  #number(): boolean {
    const start = this.#at;
    if (!this.#take(NUMBER)) return false;
    const taken = this.#text.slice(start, this.#at);
    if (/[eE]/.test(taken)) return true;
    const mayFollow = taken.includes(".") ? /^[eE][+-]?/ : /^(?:\.|[eE][+-]?)/;
    const brokenOff = mayFollow.exec(this.#text.slice(this.#at, this.#at + 2));
    if (brokenOff === null) return true;
    this.#at += brokenOff[0].length;
    return false;
  }

  /** The same for a literal or number that began well: `tru`, `-`. */
  #scalarError(): JsonSyntaxError {
    if (this.#at > 0 && /[.eE+-]/.test(this.#text[this.#at - 1] ?? "")) return this.#error();
    const rest = this.#text.slice(this.#at, this.#at + 5);
    for (const literal of ["true", "false", "null"]) {
      if (rest[0] !== literal[0]) continue;
      let same = 0;
      while (same < literal.length && rest[same] === literal[same]) same++;
      this.#at += same;
      return this.#error();
    }
    if (rest[0] === "-") this.#at++;
    return this.#error();
  }

  #error(): JsonSyntaxError {
    const reason = this.#at < this.#text.length ? "unexpected token" : "unexpected end";
    return { reason, position: this.#at };
  }
}
