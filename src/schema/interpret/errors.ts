import { beginning } from "../../base/text.ts";
import { escapePointer } from "../../json/pointer.ts";

/** An error of a validation, as ajv reports it. */
export interface ValidationError {
  /** A JSON pointer to the value. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Record<string, unknown>;
}

/** What is wrong with a value; `undefined` if nothing is. */
export type Errors = readonly ValidationError[] | undefined;

/** The most errors that are retained of the branches of `anyOf` and `oneOf`. */
const MAX_ERRORS = 20;

/** How much of a name is in a path. Texts have less of it. */
const MAX_KEY_LENGTH = 512;

/** An error of the value itself. */
export function error(keyword: string, message: string, params: Record<string, unknown> = {}): Errors {
  return [{ instancePath: "", keyword, message, params }];
}

/** The errors of a member or item, as errors of what contains it. */
export function inside(key: string | number, errors: Errors): Errors {
  if (errors === undefined) return undefined;
  const step = `/${escapePointer(beginning(String(key), MAX_KEY_LENGTH))}`;
  return errors.map((each) => ({ ...each, instancePath: step + each.instancePath }));
}

/** The errors of some branches, and then one of the keyword that has them. */
export function causedBy(causes: readonly ValidationError[], own: Errors): Errors {
  return [...causes.slice(0, MAX_ERRORS), ...(own ?? [])];
}
