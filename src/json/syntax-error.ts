/** Where and why a text is not JSON (RFC 8259). */
export interface JsonSyntaxError {
  readonly reason: "unexpected token" | "unexpected end";
  /** Index of the first UTF-16 code unit that cannot continue a JSON text. */
  readonly position: number;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;
const WHITESPACE = /[ \t\n\r]*/y;
/** Plain characters and escapes. The repetition is bounded, as V8 stores a backtracking state for each one. */
const CHARACTERS = /(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})){1,512}/y;

/**
 * Finds the first syntax error of a text; `undefined` if none. V8's own message has no position for most
 * errors, and quotes the text.
 */
export function locateSyntaxError(text: string): JsonSyntaxError | undefined {
  return new Scanner(text).scan();
}

/** Scans a text with an explicit stack, as the sender chooses the depth. */
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
      // After a value: closes lists and objects until a comma starts the next value.
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

  /** Consumes what the pattern matches here. Returns whether that was anything. */
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

  /** Moves to the first wrong character of a broken escape: the error is there, not at the backslash. */
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

  /** Consumes a number. Returns false if it breaks off in its fraction or exponent, like `1.` and `1e+`. */
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

  /** The error of a literal or number that breaks off, like `tru` or `-`. */
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
