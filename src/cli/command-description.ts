/** An option of a command. */
export interface OptionDefinition {
  readonly type: "string" | "boolean";
  /** One letter. */
  readonly short?: string;
  /** Whether it may be repeated. */
  readonly multiple?: boolean;
  /** What stands for the value in the usage, such as `FILE`. Absent for booleans. */
  readonly value?: string;
  readonly required?: boolean;
  /** The only values. Default: any. */
  readonly choices?: readonly string[];
  /** Says what it is or does, without a full stop at its end. */
  readonly help: string;
}

/** An argument that is not an option. */
export interface ArgumentDefinition {
  readonly help: string;
  readonly isOptional?: boolean;
  /** Whether it may be repeated. Only for the last one. */
  readonly isMultiple?: boolean;
}

/** Options by their long names. */
export type Options = Readonly<Record<string, OptionDefinition>>;
/** Arguments in their order, by their names in the usage. */
export type Arguments = Readonly<Record<string, ArgumentDefinition>>;

/** Options that exclude each other. */
export interface Alternatives {
  readonly options: readonly string[];
  /** Whether one of them must be given. */
  readonly isRequired?: boolean;
}

/** Everything about a command that its help, its completion and the parser say and check. */
export interface CommandDescription {
  /** One or two words, such as `tool run`. */
  readonly name: string;
  /** What it does: a sentence that goes on after the name, such as `runs a tool`. */
  readonly summary: string;
  /** Further paragraphs of its help. */
  readonly details?: readonly string[];
  readonly options: Options;
  readonly arguments: Arguments;
  readonly alternatives?: readonly Alternatives[];
  /** Whether its arguments are a program and that program's arguments, which stand after `--`. */
  readonly takesProgram?: boolean;
  /**
   * Whether an interruption ends it at once, since it has nothing to put in order. Default: it ends by itself when
   * `Terminal.signal` is aborted.
   */
  readonly endsAtOnce?: boolean;
  /** What its own exit codes mean, besides those of every command. */
  readonly exitCodes?: Readonly<Record<string, string>>;
}
