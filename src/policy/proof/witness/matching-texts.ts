import { compilePattern, MAX_PATTERN_LENGTH } from "../../../patterns/pattern.ts";
import { PatternError } from "../../../patterns/pattern-syntax.ts";
import { parseOrigin } from "../../grant/net-grant.ts";
import { MAX_MATCHED_LENGTH } from "../../match/ambiguous-text.ts";

/** Characters that stand for any. */
const FILLERS = ["a", "0", "_", "Z"];
const MAX_STEPS = 64;

/** Returns texts that a glob most likely matches. */
export function globTexts(glob: string): readonly string[] {
  return ["a", "a/b", ""].flatMap((segments) =>
    FILLERS.slice(0, 2).map((filler) =>
      firstAlternatives(glob)
        .split("/")
        .flatMap((segment) =>
          segment === "**" ? (segments === "" ? [] : segments) : fillSegment(segment, filler),
        )
        .join("/"),
    ),
  );
}

/** Replaces each `{a,b}` with its first alternative, the innermost first. */
function firstAlternatives(glob: string): string {
  let left = glob;
  for (let step = 0; step < MAX_STEPS && left.includes("{"); step++) {
    left = left.replace(/\{([^{},]*)(?:,[^{}]*)?\}/, "$1");
  }
  return left;
}

function fillSegment(segment: string, filler: string): string {
  return segment.replace(/\[!([^\]]+)\]|\[([^\]])[^\]]*\]|[*?]/g, (_, excluded?: string, first?: string) => {
    if (first !== undefined) return first;
    return excluded === undefined ? filler : (FILLERS.find((each) => !excluded.includes(each)) ?? filler);
  });
}

/** Returns texts that a regular expression most likely matches; nothing if it is more than a simple one. */
export function regexTexts(regex: string): readonly string[] {
  if (regex.length > MAX_PATTERN_LENGTH) return [];
  const reader = new RegexReader(regex);
  try {
    const text = reader.alternatives();
    return reader.isDone ? [text, `${text}a`, `a${text}`] : [];
  } catch (error) {
    if (error instanceof PatternError) return [];
    throw error;
  }
}

const CLASSES: Readonly<Record<string, string>> = { d: "0", w: "a", s: " ", D: "a", W: "-", S: "a" };
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "", B: "" };

/** Reads a regular expression, and writes the shortest text that its first alternatives match. */
class RegexReader {
  readonly #regex: string;
  #at = 0;
  #isGivenUp = false;

  constructor(regex: string) {
    this.#regex = regex;
  }

  /** Whether the whole expression was read. */
  get isDone(): boolean {
    return this.#at === this.#regex.length && !this.#isGivenUp;
  }

  alternatives(): string {
    const first = this.#sequence();
    while (this.#take("|")) this.#sequence();
    return first;
  }

  #sequence(): string {
    let text = "";
    while (!["", "|", ")"].includes(this.#next)) {
      const item = this.#item();
      const count = this.#count();
      // Repetitions of repetitions multiply.
      if (text.length + item.length * count > MAX_MATCHED_LENGTH) this.#isGivenUp = true;
      else text += item.repeat(count);
    }
    return text;
  }

  #item(): string {
    if (this.#take("^") || this.#take("$")) return "";
    if (this.#take(".")) return "a";
    if (this.#take("(")) {
      this.#skip(/\?(?::|<\w+>)/y);
      const text = this.alternatives();
      if (!this.#take(")")) this.#isGivenUp = true;
      return text;
    }
    const set = this.#skip(/\[\^?(?:\\.|[^\]\\])*\]/y);
    if (set !== undefined) return memberOf(set);
    const escaped = this.#skip(/\\./y)?.[1];
    if (escaped !== undefined) return CLASSES[escaped] ?? CONTROLS[escaped] ?? escaped;
    return this.#regex[this.#at++] ?? "";
  }

  /** How often the last item is repeated, at least. */
  #count(): number {
    const written = this.#skip(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y);
    if (written === undefined || written.startsWith("+")) return 1;
    return written.startsWith("{") ? Number.parseInt(written.slice(1), 10) : 0;
  }

  get #next(): string {
    return this.#regex[this.#at] ?? "";
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at++;
    return true;
  }

  #skip(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#regex) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** Returns a character that a set such as `[a-z]` has. */
function memberOf(set: string): string {
  const isNegated = set.startsWith("[^");
  if (!isNegated) return set[1] === "\\" ? (CLASSES[set[2] ?? ""] ?? set[2] ?? "") : (set[1] ?? "");
  const pattern = compilePattern(set);
  return FILLERS.concat("-", " ", "/").find((character) => pattern.test(character)) ?? "a";
}

/** Returns an origin that the pattern of an origin matches. */
export function originLike(pattern: string): string {
  const { scheme, host, port } = parseOrigin(pattern);
  const known = host === "*" ? "example.com" : host.replace(/^\*\./, "a.");
  const own = scheme === "https" ? 443 : 80;
  return `${scheme}://${known}${port === "*" || port === own ? "" : `:${port}`}`;
}

/** Returns a name that a pattern of names matches. */
export function nameLike(pattern: string): string {
  return pattern.replace(/\\([*\\])|\*/g, (_, escaped?: string) => escaped ?? "a");
}
