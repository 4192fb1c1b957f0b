/**
 * What a session knows about the time before a call, for rules that depend on it. Conditions on a part that is absent
 * are unclear, so that an `allow` rule with such a condition allows nothing.
 */
export interface CallHistory {
  /** The user's words in this turn. Absent if the client did not pass them on. */
  readonly userText?: string | undefined;
  /** The earlier calls. Absent if they were not retained when the message of the call began. */
  readonly ledger?: CallLedger | undefined;
  /** Where values came from. Absent if the policy tracks no fields and no user's words. */
  readonly provenance?: ValueProvenance | undefined;
}

/**
 * The earlier calls of a turn, of its session and of its principal, for conditions that count them. Calls that are under
 * way are counted too. The call that is decided on is not, also not when the policy is consulted once more after a
 * person's answer.
 */
export interface CallLedger {
  tally(query: LedgerQuery): LedgerTally;
}

/** Which calls to count. */
export interface LedgerQuery {
  /** Queries with equal keys count the same calls. A ledger caches results by key. */
  readonly key: string;
  readonly scope: "turn" | "session" | "principal";
  /** Milliseconds since the end of a call for which it counts. `Infinity` for all calls of the scope. */
  readonly withinMs: number;
  /** Whether calls of a tool count. */
  matchesTool(name: string): boolean;
  /** `done`: only calls that succeeded. `approved`: only those of them that a person confirmed. Default: all. */
  readonly only?: "done" | "approved" | undefined;
  /** The pointer (RFC 6901) to the argument whose values are added. Default: nothing is added. */
  readonly amount?: string | undefined;
}

/** The result of a {@link LedgerQuery}. There are never fewer calls than it says. */
export interface LedgerTally {
  readonly count: number;
  /** The sum of the amounts that are known, as `amountOf` returns them. */
  readonly sum: bigint;
  /** Whether all calls of the window, and all their amounts, are known. */
  readonly isComplete: boolean;
}

/** The longest pointer to an amount, in characters: a ledger ignores longer ones. */
export const MAX_AMOUNT_POINTER = 100;

/**
 * Where the values of a session came from: its users' words, and the fields of earlier results that the policy tracks.
 * Every answer is `undefined` if not everything is remembered that it depends on.
 */
export interface ValueProvenance {
  /**
   * Whether a value came whole from a source.
   *
   * @param row Of a {@link RowField}, the values of its {@link rowKeys}.
   */
  isFrom(
    source: ValueSource,
    value: string | number,
    row?: readonly (string | number)[],
  ): boolean | undefined;
  /** Whether a link, address or account number (see `referencesIn`) came from a source. */
  isReferenceFrom(source: ValueSource, reference: string): boolean | undefined;
  /** Whether a text contains a value of a field, in whatever case and with whatever blanks and punctuation. */
  holdsValueOf(field: ToolField, text: string): boolean | undefined;
}

/** Where a value may come from. `"user"` are the words of the user in the turns of the session. */
export type ValueSource = "user" | FieldSource;

/** A field of earlier results in the session. */
export type FieldSource = ToolField | LookupField | RowField;

/** A field of the results of a tool. */
export interface ToolField {
  readonly tool: string;
  /**
   * A JSON pointer (RFC 6901) to the field in the tool's output. `*` as a step stands for every element of a list and
   * every member of an object. A list on the way stands for each of its elements even without `*`. `""` is the output.
   */
  readonly field: string;
}

/** A field of the results of a tool, of those calls only whose own arguments were all the user's words. */
export interface LookupField {
  readonly lookup: string;
  /** Like {@link ToolField.field}. */
  readonly field: string;
}

/**
 * Another value of the call, with which a condition compares: a JSON pointer to an argument, or one into the principal. An
 * object of this form is always a reference, and never a constant.
 */
export type ValueReference = { readonly argument: `/${string}` } | { readonly principal: `/${string}` };

/**
 * A field of those rows in the results of a tool whose other fields have values of the call: the customer of the order with
 * this id. A row is one element of each list on the way.
 */
export interface RowField extends ToolField {
  /** What the row has in other fields, which are pointers like {@link ToolField.field}. At least one. */
  readonly row: { readonly [field: `/${string}`]: ValueReference };
}

/** The fields of a row by which it is found, in a fixed order. */
export function rowKeys({ row }: RowField): readonly `/${string}`[] {
  return (Object.keys(row) as `/${string}`[]).sort();
}

/**
 * Where a value came from, as far as a session knows: the user's words, fields of earlier results, one that outsiders can
 * write (`"untrusted"`, unless the user said the value), or nowhere that is known.
 */
export type KnownSource = "user" | "untrusted" | readonly ToolField[];

/** Where the texts and numbers of a call's arguments came from, by their JSON pointers. Those that are absent are unknown. */
export type ArgumentSources = { readonly [pointer: string]: KnownSource };

/** What a policy needs to be remembered of the results of a session's calls. */
export interface TrackedFields {
  /** Where values may come from. */
  readonly sources: readonly FieldSource[];
  /** Fields whose values texts must not contain. */
  readonly contents: readonly ToolField[];
  /** Fields that outsiders can write, for the records of where arguments came from. Default: none is known. */
  readonly untrusted?: readonly ToolField[];
}

/** A text that is the same for equal fields only. */
export function fieldKey(source: FieldSource): string {
  if ("row" in source) return JSON.stringify(["row", source.tool, source.field, ...rowKeys(source)]);
  return JSON.stringify(
    "lookup" in source ? ["lookup", source.lookup, source.field] : ["tool", source.tool, source.field],
  );
}

/** The number of decimals of amounts. */
const DECIMALS = 12;

const UNIT = 10n ** BigInt(DECIMALS);

const FORM = /^(\d+)(?:\.(\d+))?(?:e-(\d+))?$/;

/**
 * Returns an amount in units of 10^-12, so that sums are exact: 0.1 and 0.2 are 0.3. Further decimals are rounded up, so
 * that no sum is too low.
 *
 * @returns `undefined` unless the value is a number from 0 to 2^53 - 1: larger ones were rounded when they were parsed.
 */
export function amountOf(value: unknown): bigint | undefined {
  if (typeof value !== "number" || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) return undefined;
  if (Number.isInteger(value)) return BigInt(value) * UNIT;
  const { digits, decimals } = decimalOf(value);
  if (decimals <= DECIMALS) return digits * 10n ** BigInt(DECIMALS - decimals);
  const divisor = 10n ** BigInt(decimals - DECIMALS);
  return (digits + divisor - 1n) / divisor;
}

/** Whether {@link amountOf} returns an amount without rounding. */
export function isExactAmount(value: number): boolean {
  return amountOf(value) !== undefined && (Number.isInteger(value) || decimalOf(value).decimals <= DECIMALS);
}

/** The shortest decimal that is this number, which is what people and models write: `digits` times 10^-`decimals`. */
function decimalOf(value: number): { readonly digits: bigint; readonly decimals: number } {
  const [, whole = "", fraction = "", exponent = "0"] = FORM.exec(String(value)) ?? [];
  return { digits: BigInt(whole + fraction), decimals: fraction.length + Number(exponent) };
}
