import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { compileLinear } from "../patterns/pattern.ts";
import { translatePattern } from "../patterns/pattern-syntax.ts";
import { isToken, KNOWN_FORMS, mayHoldSecret, NARROW_FORMS, type SecretForm } from "./known-secrets.ts";
import { SECRET_NAME, SecretNames } from "./secret-names.ts";

const NAMES: OptionNames<RedactionOptions> = {
  names: true,
  patterns: true,
  results: true,
  onSecretArgument: true,
};

/** Options of {@link Redaction}. */
export interface RedactionOptions {
  /**
   * Further names of members whose values are secrets: letters and digits, with dashes or underscores between them. Like
   * the known ones, they match in any case, with and without dashes and underscores, and as the end of a name. Default:
   * none.
   */
  readonly names?: readonly string[];
  /**
   * Regular expressions for secrets of your own, by the name that stands in their place, in ECMAScript's syntax. They
   * match in linear time. Default: none.
   */
  readonly patterns?: Readonly<Record<string, string>>;
  /**
   * Whether executions are redacted too, and with them what the model reads. Otherwise only the messages of failures
   * are. Default: `false`.
   */
  readonly results?: boolean;
  /** Whether a call whose arguments contain a secret is denied. Default: `"pass"`. */
  readonly onSecretArgument?: "pass" | "deny";
}

/**
 * Hides secrets from those who observe calls: `[redacted: aws-key]`. It knows the forms of the keys and tokens of about 110
 * issuers, PEM keys, credentials of HTTP, cookies, passwords in URLs, and values whose member is named like a secret, such as
 * `password`, `token`, `aws_secret_access_key` or `privateKey`, also in JSON within JSON. What runs is never changed: policy,
 * digest and sandbox see the same arguments.
 */
export class Redaction {
  readonly results: boolean;
  readonly onSecretArgument: "pass" | "deny";
  readonly #names: SecretNames;
  readonly #own: readonly OwnForm[];

  /**
   * @throws {TypeError} if an option is unknown, a name is not valid, or a pattern is not valid, cannot be matched in linear time, or matches
   *   the empty text.
   */
  constructor(options: RedactionOptions = {}) {
    refuseUnknown(options, NAMES, "a Redaction");
    const { names = [], patterns = {}, results = false, onSecretArgument = "pass" } = options;
    const invalid = names.find((name) => !SECRET_NAME.test(name));
    if (invalid !== undefined) throw new TypeError(`the name '${invalid}' cannot be used: ${NAME_FORM}`);
    if (onSecretArgument !== "pass" && onSecretArgument !== "deny") {
      throw new TypeError('onSecretArgument must be "pass" or "deny"');
    }
    this.results = results;
    this.onSecretArgument = onSecretArgument;
    this.#names = new SecretNames(names);
    this.#own = Object.entries(patterns).map(([name, source]) => compile(name, source));
  }

  /** Returns a text without its secrets. */
  text(text: string): string {
    let shown = text;
    if (mayHoldSecret(text)) {
      for (const known of KNOWN_FORMS) shown = replaceKnown(shown, known, hidden);
      const names = this.#names;
      const hide = (_all: string, name: string, separator: string): string =>
        separator + hidden(names.inFrontOf(name));
      shown = shown.replace(names.inText, hide);
      for (const { clue, pattern } of names.inOtherPlaces) {
        if (clue.test(shown)) shown = shown.replace(pattern, hide);
      }
    }
    for (const own of this.#own) shown = own.replace(shown, () => hidden(own.name));
    return shown;
  }

  /** Returns a value without its secrets, deeply frozen; the same value if it has none. */
  json<Value extends JsonValue>(value: Value): Value;
  json(value: JsonValue): JsonValue {
    return this.#mayChange(value) ? this.#redacted(value) : value;
  }

  /** Whether a value can contain a secret. Most cannot, and this takes a fifth of the time of a copy. */
  #mayChange(value: JsonValue): boolean {
    if (typeof value === "string") return this.#own.length > 0 || mayHoldSecret(value);
    if (typeof value !== "object" || value === null) return false;
    if (!isJsonObject(value))
      return value.some((item) => this.#mayChange(item) || this.#optionOf(item) !== undefined);
    const pair = this.#pairOf(value);
    return Object.keys(value).some(
      (name) =>
        this.#mayChange(name) ||
        this.#kindOf(value, name, pair) !== undefined ||
        this.#mayChange(value[name] ?? null),
    );
  }

  #redacted(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (!isJsonObject(value)) {
      const items = value.map((item, index) => {
        const secret = this.#optionOf(value[index - 1]);
        const isOption = typeof item === "string" && item.startsWith("-");
        return secret === undefined || isOption ? this.#redacted(item) : hideAll(item, hidden(secret));
      });
      return items.every((item, index) => item === value[index]) ? value : Object.freeze(items);
    }
    let isChanged = false;
    const pair = this.#pairOf(value);
    const members = Object.entries(value).map(([name, member = null]) => {
      const secret = this.#kindOf(value, name, pair);
      const shownName = this.text(name);
      const shown = secret === undefined ? this.#redacted(member) : hideAll(member, hidden(secret));
      isChanged ||= shown !== member || shownName !== name;
      return [shownName, shown] as const;
    });
    return isChanged ? Object.freeze(Object.fromEntries(withDistinctNames(members))) : value;
  }

  /** The kind of secret after an item of a list that is an option of a command: `["--password", "hunter2"]`. */
  #optionOf(item: JsonValue | undefined): string | undefined {
    return typeof item === "string" ? this.#names.ofOption(item) : undefined;
  }

  /** The kind of secret that the value of a pair is: `{ "name": "Cookie", "value": "id=1" }`. */
  #pairOf({ name, key, Name, Key, value, Value }: JsonObject): string | undefined {
    const named = name ?? key ?? Name ?? Key;
    return typeof named === "string" && (value ?? Value) !== undefined ? this.#names.of(named) : undefined;
  }

  /** The kind of secret of a member: by its name, as the value of a pair, and in a JSON Web Key. */
  #kindOf(object: JsonObject, name: string, pair: string | undefined): string | undefined {
    if (pair !== undefined && (name === "value" || name === "Value")) return pair;
    const { kty } = object;
    return typeof kty === "string" && WEB_KEY_MEMBERS.has(name) ? "private-key" : this.#names.of(name);
  }

  /**
   * Returns a value for a person who decides on it, deeply frozen. It hides only numbers and texts of the
   * characters of tokens: a command with arguments stays, even where a secret is expected or a pattern of
   * your own matches it. Nested values of a member that is named like a secret stay, too.
   *
   * @param mark Called for each secret that is hidden, with its kind. Returns its replacement: a different
   *   text each time, as it may become the name of a member.
   */
  narrow(value: JsonValue, mark: (name: string) => string): JsonValue {
    if (typeof value === "string") return this.#narrowText(value, mark);
    if (typeof value !== "object" || value === null) return value;
    if (!isJsonObject(value)) return Object.freeze(value.map((item) => this.narrow(item, mark)));
    const members = Object.entries(value).map(([name, member = null]) => {
      const secret = this.#names.of(name);
      const isHidden = typeof member === "number" || (typeof member === "string" && isToken(member));
      const shown = secret !== undefined && isHidden ? mark(secret) : this.narrow(member, mark);
      return [this.#narrowText(name, mark), shown] as const;
    });
    return Object.freeze(Object.fromEntries(members));
  }

  #narrowText(text: string, mark: (name: string) => string): string {
    let shown = text;
    for (const known of NARROW_FORMS) shown = replaceKnown(shown, known, mark);
    const names = this.#names;
    shown = shown.replace(
      names.inTextNarrowly,
      (_all, name: string, separator: string) => separator + mark(names.inFrontOf(name)),
    );
    for (const own of this.#own) {
      shown = own.replace(shown, (found) => (isToken(found) ? mark(own.name) : found));
    }
    return shown;
  }

  /** Whether a value contains a secret. */
  finds(value: JsonValue): boolean {
    return this.json(value) !== value;
  }
}

/** The members of a JSON Web Key that are secret (RFC 7518, section 6). */
const WEB_KEY_MEMBERS: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "k", "oth"]);

function replaceKnown(
  text: string,
  { nameOf, clue, pattern }: SecretForm,
  mark: (name: string) => string,
): string {
  if (!clue.test(text)) return text;
  return text.replace(pattern, (found) => {
    const name = nameOf(found);
    return name === undefined ? found : mark(name);
  });
}

function hidden(name: string): string {
  return `[redacted: ${name}]`;
}

const NAME_FORM = "it must have letters and digits, with dashes or underscores between them";

/** Numbers the names that became the same, so that no member replaces another: `a`, `a (2)`. */
function withDistinctNames<Value>(members: readonly (readonly [string, Value])[]): [string, Value][] {
  const taken = new Set(members.map(([name]) => name));
  const numbers = new Map<string, number>();
  return members.map(([name, member]) => {
    let number = (numbers.get(name) ?? 0) + 1;
    while (number > 1 && taken.has(numbered(name, number))) number++;
    numbers.set(name, number);
    return [numbered(name, number), member];
  });
}

function numbered(name: string, number: number): string {
  return number === 1 ? name : `${name} (${number})`;
}

/** Hides every text and number of a value. */
function hideAll(value: JsonValue, note: string): JsonValue {
  if (typeof value === "string") return value === "" ? value : note;
  if (typeof value === "number") return note;
  if (typeof value !== "object" || value === null) return value;
  if (!isJsonObject(value)) return Object.freeze(value.map((item) => hideAll(item, note)));
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([name, member = null]) => [name, hideAll(member, note)])),
  );
}

/** A kind of secret of the embedder's. */
interface OwnForm {
  readonly name: string;
  replace(text: string, change: (found: string) => string): string;
}

function compile(name: string, source: string): OwnForm {
  try {
    const program = compileLinear(translatePattern(source).re2);
    if (!program.matcher("").find()) {
      return { name, replace: (text, change) => program.matcher(text).replaceAll(change) };
    }
  } catch (error) {
    throw new TypeError(
      `the pattern '${name}' cannot be used: ${error instanceof Error ? error.message : ""}`,
    );
  }
  throw new TypeError(`the pattern '${name}' matches the empty text`);
}
