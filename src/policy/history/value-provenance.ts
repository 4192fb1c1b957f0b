/** Where a value may come from. `"user"` are the words of the user in the turns of the session. */
export type ValueSource = "user" | FieldSource;

/** A field of earlier results in the session. */
export type FieldSource = ToolField | LookupField;

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

/** What a policy needs to be remembered of the results of a session's calls. */
export interface TrackedFields {
  /** Where values may come from. */
  readonly sources: readonly FieldSource[];
  /** Fields whose values texts must not contain. */
  readonly contents: readonly ToolField[];
}

/**
 * Where the values of a session came from: its users' words, and the fields of earlier results that the policy tracks.
 * Every answer is `undefined` if not everything is remembered that it depends on.
 */
export interface ValueProvenance {
  /** Whether a value came whole from a source. */
  isFrom(source: ValueSource, value: string | number): boolean | undefined;
  /** Whether a link, address or account number (see `referencesIn`) came from a source. */
  isReferenceFrom(source: ValueSource, reference: string): boolean | undefined;
  /** Whether a text contains a value of a field, in whatever case and with whatever blanks and punctuation. */
  holdsValueOf(field: ToolField, text: string): boolean | undefined;
}
