/**
 * The names whose values are secrets: in any case, with and without dashes and underscores, and as the end of a name, as in
 * `clientSecret` and `aws_secret_access_key`.
 */
const SECRET_NAMES: readonly string[] = [
  ...[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "authorization",
    "cookie",
    "api-key",
    "private-key",
  ],
  ...["access-key", "account-key", "secret-key", "signing-key", "encryption-key", "master-key"],
  ...["connection-string", "client-key-data"],
];

/** What counts only after a dash or an underscore: `DB_PASS`, and not `pass: 12`. */
const LAST_PART = /[_-](?:pass|pwd)$/i;

/** What ends a name in a text: a quote, in JSON within JSON with backslashes before it. */
const QUOTE = String.raw`(?:\\{0,7}["'])?`;

/** What separates a name from its value. */
const SEPARATOR = String.raw`[:=][ \t]{0,4}`;

/** Up to 8,192 characters, in quotes or of one word. */
const VALUE = String.raw`(?:"(?:[^"\\\n]|\\[^\n]){1,8192}"?|'(?:[^'\\\n]|\\[^\n]){1,8192}'?|(?<escape>\\{1,7})"[^\n]{0,8192}?(?<!\\)\k<escape>"|[^\s"',;&[\]{}]{1,8192})`;

/** Where a space follows `=` but none precedes it, a shell would run the rest. */
const NARROW_SEPARATOR = String.raw`=|[ \t]{1,4}=[ \t]{0,4}|[ \t]{0,4}:[ \t]{0,4}`;

/** Of the characters of tokens. */
const NARROW_VALUE = String.raw`(?:\\{0,7}"[\w.~+/=@%-]{1,512}\\{0,7}"|'[\w.~+/=@%-]{1,512}'|[\w.~+/=@%-]{1,512})`;

const LONGEST_NAME = 256;
/** How many names are remembered. When there are more, all of them are forgotten. */
const MAX_KNOWN = 1_000;

/** The names of members that hold secrets: those that are known, and an embedder's own. */
export class SecretNames {
  /**
   * `password=hunter2` and `"password": "hunter2"`: the separator and the value after a name, which is the first group; the second
   * one is the separator. Global. The name is looked for backwards, from the few places with a separator.
   */
  readonly inText: RegExp;
  /** Like {@link inText}, for texts in which nothing but a secret may be hidden. */
  readonly inTextNarrowly: RegExp;
  readonly #names: readonly string[];
  /** The names that were asked about, which most calls repeat, and their kinds of secret; `""` for none. */
  readonly #known = new Map<string, string>();

  /** @param own Compared as the known ones: without dashes, underscores and case, and as the end of a name. */
  constructor(own: readonly string[] = []) {
    const all = [...SECRET_NAMES, ...own];
    this.#names = all.map(plainName);
    const names = all.map((name) => name.split(/[-_]+/).join("[_-]?")).join("|");
    const before = (space: string): string => `(?<=(${names}|[A-Za-z0-9][_-](?:pass|pwd))${QUOTE}${space})`;
    this.inText = new RegExp(`${before("[ \\t]{0,4}")}(${SEPARATOR})${VALUE}`, "gi");
    this.inTextNarrowly = new RegExp(`${before("")}(${NARROW_SEPARATOR})${NARROW_VALUE}`, "gi");
  }

  /** Returns the kind of secret that a member of this name holds, or `undefined` if its name does not say so. */
  of(name: string): string | undefined {
    if (name.length > LONGEST_NAME) return undefined;
    let kind = this.#known.get(name);
    if (kind === undefined) {
      const plain = plainName(name);
      kind = this.#names.find((secret) => plain.endsWith(secret)) ?? (LAST_PART.test(name) ? "password" : "");
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(name, kind);
    }
    return kind === "" ? undefined : kind;
  }

  /** Returns the kind of secret after a name that {@link inText} has found. */
  inFrontOf(name: string): string {
    return this.of(name) ?? "secret";
  }
}

/** A name of a member for {@link SecretNames}: letters and digits, with dashes or underscores between them. */
export const SECRET_NAME: RegExp = /^(?=.{1,64}$)[A-Za-z0-9]+(?:[-_]+[A-Za-z0-9]+)*$/;

function plainName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}
