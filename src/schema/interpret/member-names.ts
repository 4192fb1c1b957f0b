import type { JsonObject } from "../../json/value.ts";
import { meter } from "../work-meter.ts";

/** How many names take as long to look up as one keyword. Listing one takes as long as a keyword. */
const NAMES_PER_WORK = 4;

type Members = Readonly<Record<string, unknown>>;

/** Lists the names of members, of schemas and of values, each list once. Listing and looking up is charged. */
export class MemberNames {
  /** The names in objects of schemas, such as `properties`: listing thousands for each item would take too long. */
  readonly #declared = new WeakMap<Members, readonly string[]>();
  /** The names of the last object, as many schemas can apply to the same one. */
  #listed: { readonly of: JsonObject; readonly names: readonly string[] } | undefined;

  /** The names in an object of a schema, which is not charged. */
  declaredIn(members: Members): readonly string[] {
    let names = this.#declared.get(members);
    if (names === undefined) {
      names = Object.keys(members);
      this.#declared.set(members, names);
    }
    return names;
  }

  of(value: JsonObject): readonly string[] {
    if (this.#listed?.of !== value) {
      const names = Object.keys(value);
      meter.charge(names.length);
      this.#listed = { of: value, names };
    }
    return this.#listed.names;
  }

  /** The properties of a schema that a value has. */
  shared(properties: Members, value: JsonObject): readonly string[] {
    const names = this.of(value);
    const declared = this.declaredIn(properties);
    const fewer = declared.length < names.length ? declared : names;
    meter.charge(fewer.length / NAMES_PER_WORK);
    return fewer.filter((name) => Object.hasOwn(properties, name) && Object.hasOwn(value, name));
  }

  /** Forgets the last value, which must not be kept alive. */
  forgetValue(): void {
    this.#listed = undefined;
  }
}
