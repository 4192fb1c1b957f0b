/**
 * The names whose values are secrets: in any case, with and without dashes and underscores, and as the end of a name, as in
 * `clientSecret` and `aws_secret_access_key`.
 */
const SECRET_NAMES: readonly string[] = [
  "password",
  "passwd",
  "passphrase",
  "secret",
  "token",
  "authorization",
  "cookie",
  "api-key",
  "private-key",
  "access-key",
  "account-key",
  "secret-key",
  "signing-key",
  "encryption-key",
  "master-key",
  "connection-string",
  "client-key-data",
  "secret-key-base",
  "preshared-key",
  "shared-key",
  "auth-key",
  "app-key",
  "application-key",
  "subscription-key",
  "license-key",
  "storage-key",
  "sshpass",
  "jfrog-art-api",
];

/** What counts only after a dash or an underscore: `DB_PASS`, and not `pass: 12`. */
const LAST_PARTS = "pass|pwd|psk|pat|auth|credentials?";
const LAST_PART = new RegExp(`[_-](?:${LAST_PARTS})$`, "i");

/** What is no secret: the places of pages in lists, and whether credentials may be sent. */
const PLACES = "page|next|continuation|pagination|cursor|sync|skip|starting|resume";
const PLACE = new RegExp(`(?:(?:${PLACES})token|allowcredentials)$`);

/** What ends a name in a text: a quote, in JSON within JSON with backslashes before it; the end of an index. */
const QUOTE = String.raw`(?:\\{0,7}["'])?`;
const INDEX = String.raw`(?:\]|\[\d{0,4}\])?`;

/**
 * What separates a name from its value: `=`, `:`, `:=`, a type with `=`, and `=>`, `==` and others before a text in quotes, as
 * what stands there without quotes is code.
 */
const SEPARATOR = String.raw`(?:(?:=>|[=!]==?|:[ \t]{0,4}&?[A-Za-z][\w.<>|]{0,40}[ \t]{0,4}=)[ \t]{0,4}(?=\\{0,7}["'])|:?=(?![=>])[ \t]{0,4}|:(?!=)[ \t]{0,4})`;

/**
 * Unquoted texts in the place of a secret that are not secrets: types, the absence of a value, and its
 * source.
 */
const CODE = String.raw`(?:str(?:ing)?|bytes|number|bool(?:ean)?|any|unknown|never|object|null|none|nil|undefined|true|false|required|optional)(?![\w.-])|\$\{|\$\(|(?-i:\$[A-Z_][A-Z0-9_]*)(?!\w)|process\.env\b|import\.meta\b|os\.(?:environ|getenv)\b|[a-z_][\w.]{0,64}\(\)`;

/** Up to 8,192 characters, in quotes or of one word, or a block of YAML. */
const VALUE = String.raw`(?:"""[^]{1,8192}?"""|'''[^]{1,8192}?'''|[|>][+-]?\d?[ \t]{0,8}(?=\r?\n)(?:\r?\n(?<indent>[ \t]{1,64})[^\n]{1,8192}(?:\n\k<indent>[^\n]{0,8192}){0,200})|"(?:[^"\\\n]|\\[^\n]){1,8192}"?|'(?:[^'\\\n]|\\[^\n]|''){1,8192}'?|(?<escape>\\{1,7})"[^\n]{0,8192}?(?<!\\)\k<escape>"|(?!${CODE})[^\s"',;&[\]{}]{1,8192})`;

/** A text in quotes. */
const QUOTED = String.raw`(?:"(?:[^"\\\n]|\\[^\n]){1,8192}"|'(?:[^'\\\n]|\\[^\n]){1,8192}')`;

/** A text in a block of Terraform and its relatives: `"…"`, or lines up to a word. */
const BLOCK_TEXT = String.raw`(?:${QUOTED}|<<-?(?<end>[A-Z]{1,16})[ \t]{0,4}\r?\n[^]{1,8192}?\n[ \t]{0,64}\k<end>(?!\w))`;

/** Where a name stands besides in front of a separator. */
interface NamePosition {
  /** What every text with such a place has. */
  readonly clue: RegExp;
  readonly before: string;
  /** What is between the name and its value. */
  readonly between: string;
  readonly value: string;
}

/**
 * An option of a command, an element, a pair of name and value, arguments of a function, environments of shells and images, a part
 * of a form, a variable of Terraform, and JSON in a URL.
 */
const OTHER_PLACES: readonly NamePosition[] = [
  {
    clue: /(?:^|[\s"'])--?\w/,
    before: String.raw`(?:^|[\s"'])--?[\w-]{0,64}`,
    between: String.raw`[ \t]{1,4}["']?`,
    value: String.raw`(?!-)[^\s"']{6,1024}`,
  },
  {
    clue: /<\//,
    before: String.raw`<[\w.:-]{0,64}`,
    between: ">",
    value: String.raw`[^<>]{1,8192}(?=<\/)`,
  },
  {
    clue: /value["'\\ \t]*[:=]/i,
    before: String.raw`(?<![A-Za-z])(?:name|key)${QUOTE}[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,7}["'])?[\w.:-]{0,64}`,
    between: String.raw`(?:\\{0,7}["'])?,?(?:\s|\\[nrt]){0,64}(?:\\{0,7}["'])?value${QUOTE}[ \t]{0,4}[:=][ \t]{0,4}`,
    value: VALUE,
  },
  {
    clue: /\w\(["'][\w.-]+["'],/,
    before: String.raw`\w\(["'][\w.-]{0,64}`,
    between: String.raw`["'],\s{0,8}`,
    value: QUOTED,
  },
  {
    clue: /ENV |setx|setenv|set -/,
    before: String.raw`(?<![A-Za-z])(?:ENV|setx|setenv|set -[gUx]{1,3}) {1,4}[\w-]{0,64}`,
    between: "[ \\t]{1,4}",
    value: String.raw`(?:${QUOTED}|[^\s"'=]{1,1024})`,
  },
  {
    clue: /; {0,4}name="/,
    before: String.raw`; {0,4}name="[\w.-]{0,64}`,
    between: String.raw`"(?:\r?\n){2}`,
    value: String.raw`[^\r\n]{1,8192}`,
  },
  {
    clue: /(?:variable|output)[ \t]+"/,
    before: String.raw`(?<![\w.])(?:variable|output)[ \t]{1,4}"[\w-]{0,64}`,
    between: String.raw`"\s{0,8}\{(?:[^{}"]|"(?:[^"\\\n]|\\[^\n]){0,200}"|\{[^{}]{0,500}\}){0,500}?(?<!\w)(?:default|value)[ \t]{0,32}=[ \t]{0,8}`,
    value: BLOCK_TEXT,
  },
  {
    clue: /%22%3A/,
    before: String.raw`%22[\w-]{0,64}`,
    between: "%22%3A(?:%20)?%22",
    value: String.raw`(?:(?!%22)[^\s&"']){1,1024}`,
  },
];

/** Where a space follows `=` but none precedes it, a shell would run what follows. */
const NARROW_SEPARATOR = String.raw`=|[ \t]{1,4}=[ \t]{0,4}|[ \t]{0,4}:[ \t]{0,4}`;

/** Of the characters of tokens. */
const NARROW_VALUE = String.raw`(?:\\{0,7}"[\w.~+/=@%-]{1,512}\\{0,7}"|'[\w.~+/=@%-]{1,512}'|[\w.~+/=@%-]{1,512})`;

const LONGEST_NAME = 256;
/** How many names are remembered. When there are more, all of them are forgotten. */
const MAX_KNOWN = 1_000;

/** The names of members that contain secrets: the known ones, and an embedder's own. */
export class SecretNames {
  /**
   * `password=hunter2` and `"password": "hunter2"`: the separator and the value after a name, which is the first group; the second
   * one is the separator. Global. The name is looked for backwards, from the few places with a separator.
   */
  readonly inText: RegExp;
  /** Like {@link inText}, for other places of a name. */
  readonly inOtherPlaces: readonly { readonly clue: RegExp; readonly pattern: RegExp }[];
  /** Like {@link inText}, for texts in which nothing but a secret may be hidden. */
  readonly inTextNarrowly: RegExp;
  readonly #names: readonly string[];
  /** The names that were asked about, which most calls repeat, and their kinds of secret; `""` for none. */
  readonly #known = new Map<string, string>();

  /** @param own Compared as the known ones: without dashes, underscores and case, and as the end of a name. */
  constructor(own: readonly string[] = []) {
    const all = [...SECRET_NAMES, ...own];
    this.#names = all.map(plainName);
    const spelt = all.map((name) => name.split(/[-_]+/).join("[_-]?")).join("|");
    const names = `(?:${spelt})(?<!(?:${PLACES})[_-]?token)|[A-Za-z0-9_:][_-](?:${LAST_PARTS})(?<!allow[_-]credentials)`;
    this.inText = new RegExp(
      `(?=[:=!])(?<=(${names})(?<=[a-z0-9])${QUOTE}${INDEX}[ \\t]{0,4})(${SEPARATOR})${VALUE}`,
      "gi",
    );
    this.inOtherPlaces = OTHER_PLACES.map(({ clue, before, between, value }) => ({
      clue,
      pattern: new RegExp(`(?<=${before}(${names}))(${between})${value}`, "gi"),
    }));
    this.inTextNarrowly = new RegExp(`(?<=(${names})${QUOTE})(${NARROW_SEPARATOR})${NARROW_VALUE}`, "gi");
  }

  /** Returns the kind of secret that a member's name stands for, or `undefined`. */
  of(name: string): string | undefined {
    if (name.length > LONGEST_NAME) return undefined;
    let kind = this.#known.get(name);
    if (kind === undefined) {
      const plain = plainName(name);
      const known = this.#names.find((secret) => plain.endsWith(secret));
      kind = PLACE.test(plain) ? "" : (known ?? (LAST_PART.test(name) ? "password" : ""));
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(name, kind);
    }
    return kind === "" ? undefined : kind;
  }

  /** Returns the kind of secret that an option of a command, such as `--api-key`, takes; `undefined` if it takes none. */
  ofOption(text: string): string | undefined {
    return /^--?[A-Za-z][\w-]*$/.test(text) ? this.of(text) : undefined;
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
