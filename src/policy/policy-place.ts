import type { JsonValue } from "../json/value.ts";

/** Where the rules of a policy were read. */
export interface PolicyPlace {
  /** The path of the file, or the name that it was loaded under. */
  readonly file: string;
  /** The rules, with their lines from 1 on. */
  readonly rules: readonly { readonly name: string; readonly line: number }[];
  /** What the file requires of its rules, as it is written there. */
  readonly invariants: readonly JsonValue[];
}
