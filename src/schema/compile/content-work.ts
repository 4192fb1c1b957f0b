import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { meter } from "../bounds.ts";
import type { ContentWork } from "./references.ts";

/** Schemas of items and members charge their work if they have more keywords than this. */
export const MAX_UNCOUNTED_KEYWORDS = 16;

/** How many keywords of compiled code run for one item in the time of one that is charged. */
const COMPILED_PER_WORK = 10;

const ITEM_KEYWORDS: ReadonlySet<string> = new Set([
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
]);
const MEMBER_KEYWORDS: ReadonlySet<string> = new Set([
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "minProperties",
  "maxProperties",
]);
const CHARACTER_KEYWORDS: ReadonlySet<string> = new Set(["minLength", "maxLength"]);

/** The work of counting a character. */
const CHARACTER_WORK = 1 / 64;

/** Names beyond this length are charged by their length: each error inside a member writes its name. */
const MAX_FREE_NAME_LENGTH = 256;
const NAME_CHARACTERS_PER_WORK = 4;

/** Adds up the work of a schema's keywords for the contents of a value. */
export class ContentWorkSum {
  #item = 0;
  #member = 0;
  #character = 0;

  /** @param keywords How many keywords the schemas in this keyword have. */
  add(keyword: string, keywords: number): void {
    if (ITEM_KEYWORDS.has(keyword)) {
      this.#item += (1 + Math.min(keywords, MAX_UNCOUNTED_KEYWORDS)) / COMPILED_PER_WORK;
    } else if (MEMBER_KEYWORDS.has(keyword)) this.#member += 1 + keywords / COMPILED_PER_WORK;
    else if (CHARACTER_KEYWORDS.has(keyword)) this.#character += CHARACTER_WORK;
  }

  /** `undefined` if absent. */
  get sum(): ContentWork | undefined {
    const item = this.#item;
    const member = this.#member;
    const character = this.#character;
    return item + member + character === 0 ? undefined : { item, member, character };
  }
}

/** Charges the work of a schema for the contents of a value. */
export function chargeContents({ item, member, character }: ContentWork, value: JsonValue): void {
  if (typeof value === "string") meter.charge(value.length * character);
  else if (Array.isArray(value)) meter.charge(value.length * item);
  else if (member > 0 && isJsonObject(value)) chargeMembers(member, value);
}

function chargeMembers(work: number, value: JsonObject): void {
  meter.countMembers(value);
  let count = 0;
  for (const name of Object.keys(value)) {
    count += 1 + Math.max(0, name.length - MAX_FREE_NAME_LENGTH) / NAME_CHARACTERS_PER_WORK;
  }
  meter.charge(count * work);
}
