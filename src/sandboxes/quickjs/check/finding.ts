/** A use of something that the sandbox does not have, in a module of a tool. */
export interface Finding {
  /** The module's path in the tool's folder. */
  readonly module: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  readonly kind: "global" | "member" | "import";
  /** What is wrong, and what to use instead. */
  readonly message: string;
}

/** Modules for the thread to check. */
export interface CheckTask {
  /** The sources by name. TypeScript still has its types. */
  readonly sources: Readonly<Record<string, string>>;
  /** The names of the sandbox's globals. */
  readonly globals: readonly string[];
}

/** What the thread found. */
export interface CheckAnswer {
  readonly findings: readonly Finding[];
  /** The modules that these modules import from their folder, by name. Untrusted. */
  readonly imports: readonly string[];
}
