// A small JSON (RFC 8259) reader and writer, for tools that have a fixed input schema.

const QUOTE: u16 = 0x22;
const BACKSLASH: u16 = 0x5c;
const OPEN_BRACE: u16 = 0x7b;
const CLOSE_BRACE: u16 = 0x7d;
const OPEN_BRACKET: u16 = 0x5b;
const CLOSE_BRACKET: u16 = 0x5d;
const COLON: u16 = 0x3a;
const COMMA: u16 = 0x2c;

/**
 * Reads a JSON text from start to end. Unexpected input sets `failed`, and everything read after that is empty, so
 * check `failed` once, at the end.
 */
export class JsonReader {
  failed: bool = false;
  private at: i32 = 0;

  constructor(private text: string) {}

  /** Moves to the next member of an object and returns its name, or `null` if there are no more. */
  member(first: bool): string | null {
    if (!this.next(first, OPEN_BRACE, CLOSE_BRACE)) return null;
    const name = this.string();
    this.expect(COLON);
    return name;
  }

  /** Moves to the next item of an array. Returns `false` if there are no more. */
  item(first: bool): bool {
    return this.next(first, OPEN_BRACKET, CLOSE_BRACKET);
  }

  /** Reads a string and resolves its escapes. */
  string(): string {
    this.expect(QUOTE);
    let value = "";
    let start = this.at;
    while (!this.failed) {
      const unit = this.peek();
      if (unit == QUOTE) {
        value += this.text.substring(start, this.at++);
        return value;
      }
      if (unit == BACKSLASH) {
        value += this.text.substring(start, this.at++);
        value += this.escape();
        start = this.at;
      } else if (unit < 0x20) {
        this.failed = true; // a control character, or the end of the text
      } else {
        this.at++;
      }
    }
    return "";
  }

  /** Reads an integer without sign and exponent. */
  integer(): i32 {
    this.skipSpace();
    const start = this.at;
    let value: i64 = 0;
    while (isDigit(this.peek()) && value <= i32.MAX_VALUE) value = value * 10 + (this.take() - 0x30);
    if (this.at == start || value > i32.MAX_VALUE) this.failed = true;
    return this.failed ? 0 : <i32>value;
  }

  /** Skips a value of any type. */
  skip(): void {
    this.skipSpace();
    const unit = this.peek();
    if (unit == QUOTE) {
      this.string();
    } else if (unit == OPEN_BRACE) {
      for (let name = this.member(true); name != null; name = this.member(false)) this.skip();
    } else if (unit == OPEN_BRACKET) {
      for (let more = this.item(true); more; more = this.item(false)) this.skip();
    } else {
      const start = this.at;
      while (isScalar(this.peek())) this.at++;
      if (this.at == start) this.failed = true;
    }
  }

  private next(first: bool, opener: u16, closer: u16): bool {
    if (first) this.expect(opener);
    this.skipSpace();
    if (this.peek() == closer) {
      this.at++;
      return false;
    }
    if (!first) this.expect(COMMA);
    return !this.failed;
  }

  private escape(): string {
    const unit = this.take();
    switch (unit) {
      case 0x62: // b
        return "\b";
      case 0x66: // f
        return "\f";
      case 0x6e: // n
        return "\n";
      case 0x72: // r
        return "\r";
      case 0x74: // t
        return "\t";
      case 0x75: // u
        return String.fromCharCode(this.hex() << 12 | this.hex() << 8 | this.hex() << 4 | this.hex());
      case QUOTE:
      case BACKSLASH:
      case 0x2f: // a slash
        return String.fromCharCode(unit);
      default:
        this.failed = true;
        return "";
    }
  }

  private hex(): i32 {
    const unit = <i32>this.take();
    if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
    const letter = unit | 0x20;
    if (letter >= 0x61 && letter <= 0x66) return letter - 0x61 + 10;
    this.failed = true;
    return 0;
  }

  private expect(unit: u16): void {
    this.skipSpace();
    if (this.take() != unit) this.failed = true;
  }

  private skipSpace(): void {
    let unit = this.peek();
    while (unit == 0x20 || unit == 0x09 || unit == 0x0a || unit == 0x0d) {
      this.at++;
      unit = this.peek();
    }
  }

  /** Returns the current code unit; 0 at the end and after a failure. */
  private peek(): u16 {
    return this.failed || this.at >= this.text.length ? 0 : <u16>this.text.charCodeAt(this.at);
  }

  private take(): u16 {
    const unit = this.peek();
    this.at++;
    return unit;
  }
}

function isDigit(unit: u16): bool {
  return unit >= 0x30 && unit <= 0x39;
}

/** Whether a code unit can be part of a number or a literal. */
function isScalar(unit: u16): bool {
  return isDigit(unit) || (unit >= 0x61 && unit <= 0x7a) || unit == 0x2b || unit == 0x2d || unit == 0x2e || unit == 0x45;
}

/** Returns a string as JSON text. */
export function quote(value: string): string {
  let text = '"';
  let start = 0;
  for (let at = 0; at < value.length; at++) {
    const unit = value.charCodeAt(at);
    // A lone surrogate cannot be encoded as UTF-8, so it is escaped.
    const alone = isSurrogate(unit) && !isPair(value, at);
    if (unit >= 0x20 && unit != QUOTE && unit != BACKSLASH && !alone) {
      if (isSurrogate(unit)) at++;
      continue;
    }
    text += value.substring(start, at) + "\\u" + unit.toString(16).padStart(4, "0");
    start = at + 1;
  }
  return text + value.substring(start) + '"';
}

function isSurrogate(unit: i32): bool {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function isPair(value: string, at: i32): bool {
  if (value.charCodeAt(at) >= 0xdc00 || at + 1 >= value.length) return false;
  const second = value.charCodeAt(at + 1);
  return second >= 0xdc00 && second <= 0xdfff;
}
