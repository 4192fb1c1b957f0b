/** The arguments of `grep`. */
export interface GrepInput {
  readonly pattern: string;
  /** Default: the workspace. */
  readonly path?: string;
  /** Default: all files. */
  readonly glob?: string;
  readonly ignoreCase?: boolean;
  /** How many lines to show before and after each match. Default: 0. */
  readonly context?: number;
  readonly filesOnly?: boolean;
  /** The most matches, or paths. */
  readonly limit?: number;
}
