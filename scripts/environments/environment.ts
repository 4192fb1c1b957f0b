/** A runtime or a bundler in which Sandgate is tried. */
export interface Environment {
  readonly name: string;
  /** What is installed for it, in exact versions. */
  readonly packages: readonly string[];
  /** The packages among them whose install scripts run. */
  readonly scripts?: readonly string[];
  readonly ways: readonly Way[];
}

/** A way to run a program in an environment. Its folder has the files of `program/`. */
export interface Way {
  readonly name: "import" | "require" | "bundled" | "external";
  /** Files that it needs besides the program. */
  readonly files?: Readonly<Record<string, string>>;
  /** The command that builds it. Default: nothing is built. */
  readonly build?: readonly string[];
  /** The command that runs it, after the folder was moved. `node` is the current Node.js. */
  readonly run: readonly string[];
  /** Whether it answers on a port, given as `PORT`, instead of printing. Default: `false`. */
  readonly serves?: boolean;
}
