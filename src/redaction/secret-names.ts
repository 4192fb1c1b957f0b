/** The names whose values are secrets, without dashes and underscores: also as the end of a name, as in `clientSecret`. */
const SECRET_NAMES: readonly string[] = ["password", "passwd", "secret", "token", "apikey", "authorization"];

/** The same names as they stand in texts, as a regular expression. */
const WRITTEN_NAMES = "password|passwd|secret|token|api[_-]?key|authorization";

/** What follows a name in a text, and the value. */
const WIDE_VALUE = String.raw`["']?[ \t]{0,4}[:=][ \t]{0,4})(?:"[^"\n]{1,512}"|'[^'\n]{1,512}'|[^\s"',;&[\]{}]{1,512})`;

/** The value is of the characters of tokens. Where a space follows `=` but none precedes it, a shell would run the rest. */
const NARROW_VALUE = String.raw`["']?(?:=|[ \t]{1,4}=[ \t]{0,4}|[ \t]{0,4}:[ \t]{0,4}))(?:"[\w.~+/=@%-]{1,512}"|'[\w.~+/=@%-]{1,512}'|[\w.~+/=@%-]{1,512})`;

const LONGEST_NAME = 256;
/** How many names are remembered. When there are more, all of them are forgotten. */
const MAX_KNOWN = 1_000;

/** The names of members that hold secrets: those that are known, and an embedder's own. */
export class SecretNames {
  /** `password=hunter2` and `"password": "hunter2"`: the name with its separator, and the value. Global. */
  readonly inText: RegExp;
  /** Like {@link inText}, for texts in which nothing but a secret may be hidden. */
  readonly inTextNarrowly: RegExp;
  readonly #names: readonly string[];
  /** The names that were asked about, which most calls repeat, and their kinds of secret; `""` for none. */
  readonly #known = new Map<string, string>();

  /** @param own Compared as the known ones: without dashes, underscores and case, and as the end of a name. */
  constructor(own: readonly string[] = []) {
    this.#names = [...SECRET_NAMES, ...own.map(plainName)];
    const written = own.map((name) => name.split(/[-_]+/).join("[_-]?"));
    const names = [WRITTEN_NAMES, ...written].join("|");
    const named = `(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,32}[_-]?)?(?:${names})`;
    this.inText = new RegExp(named + WIDE_VALUE, "gi");
    this.inTextNarrowly = new RegExp(named + NARROW_VALUE, "gi");
  }

  /** Returns the kind of secret that a member of this name holds, or `undefined` if its name does not say so. */
  of(name: string): string | undefined {
    if (name.length > LONGEST_NAME) return undefined;
    let kind = this.#known.get(name);
    if (kind === undefined) {
      const plain = plainName(name);
      kind = this.#names.find((secret) => plain.endsWith(secret)) ?? "";
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(name, kind);
    }
    return kind === "" ? undefined : kind;
  }

  /** Returns the kind of secret after a name with its separator in a text, such as `"api_key": `. */
  inFrontOf(named: string): string {
    return this.of(named.replace(/["'\s:=]+$/, "")) ?? "secret";
  }
}

/** A name of a member for {@link SecretNames}: letters and digits, with dashes or underscores between them. */
export const SECRET_NAME: RegExp = /^(?=.{1,64}$)[A-Za-z0-9]+(?:[-_]+[A-Za-z0-9]+)*$/;

function plainName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}
