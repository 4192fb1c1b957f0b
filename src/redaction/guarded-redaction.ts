import { copyJson } from "../json/copy.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import { Redaction } from "./redaction.ts";

/** Stands for what a redaction could not read. */
const UNREADABLE = "[redacted: unreadable]";

/** What is shown of an output may be as large as the output. */
const BOUNDS = { length: Number.MAX_SAFE_INTEGER, values: 10_000_000, members: 10_000_000 };

const guarded = new WeakMap<Redaction, Redaction>();

/**
 * Returns a redaction that hides everything where the given one fails: code of the embedder, such as a subclass, may throw or
 * return anything. One that is Sandgate's own is returned as it is.
 */
export function guardRedaction(given: Redaction): Redaction {
  const isOwn = Object.getPrototypeOf(given) === Redaction.prototype && Object.keys(given).every(isOption);
  if (isOwn || given instanceof GuardedRedaction) return given;
  const guard = guarded.get(given) ?? new GuardedRedaction(given);
  guarded.set(given, guard);
  return guard;
}

function isOption(name: string): boolean {
  return name === "results" || name === "onSecretArgument";
}

class GuardedRedaction extends Redaction {
  readonly #given: Redaction;

  constructor(given: Redaction) {
    super({ results: given.results === true, onSecretArgument: given.onSecretArgument ?? "pass" });
    this.#given = given;
  }

  override text(text: string): string {
    try {
      const shown: unknown = this.#given.text(text);
      if (typeof shown === "string") return shown;
    } catch {
      // The reason may quote the secret.
    }
    return UNREADABLE;
  }

  override json<Value extends JsonValue>(value: Value): Value;
  override json(value: JsonValue): JsonValue {
    try {
      const shown: unknown = this.#given.json(value);
      if (shown === value) return value;
      return copyLike(value, shown);
    } catch {
      // The reason may quote the secret.
    }
    return isJsonObject(value) ? Object.freeze({ unreadable: UNREADABLE }) : UNREADABLE;
  }

  /** @throws if the given one fails: a person must not decide on what they cannot read. */
  override narrow(value: JsonValue, mark: (name: string) => string): JsonValue {
    return copyLike(value, this.#given.narrow(value, mark));
  }

  override finds(value: JsonValue): boolean {
    return this.#given.finds(value) !== false;
  }
}

/** @throws {TypeError} unless it is JSON, and an object or a text where it stands for one. */
function copyLike(value: JsonValue, shown: unknown): JsonValue {
  const copy = copyJson(shown, BOUNDS);
  const isLike = isJsonObject(value)
    ? isJsonObject(copy)
    : typeof value !== "string" || typeof copy === "string";
  if (!isLike) throw new TypeError("a redaction must return a value of the same kind");
  return copy;
}
