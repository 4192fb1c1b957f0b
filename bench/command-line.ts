import { parseArgs } from "node:util";
import { SUITE_NAMES } from "./suites.ts";

/** A parsed command line of `npm run bench`. */
export type Command =
  | { readonly kind: "measure"; readonly suites: readonly string[]; readonly options: MeasureOptions }
  | { readonly kind: "soak"; readonly seconds: number; readonly isJson: boolean }
  | { readonly kind: "compare"; readonly before: string; readonly after: string };

/** How to measure the suites, and what to do with the results. */
export interface MeasureOptions {
  readonly isQuick: boolean;
  readonly isJson: boolean;
  readonly hasPeers: boolean;
  /** Where the report and, with `plots`, the charts are written. Default: nowhere. */
  readonly out: string | undefined;
  readonly plots: boolean;
  /** Whether the tracked charts, the report beside them and the figures in README.md are written. */
  readonly writesDocs: boolean;
  readonly baseline: "ignore" | "check" | "write";
  /** Only measure questions whose name contains this. */
  readonly only: string;
}

/** The help text. */
export const USAGE: string = `npm run bench [-- SUITE…] [options]     suites: ${SUITE_NAMES.join(", ")}; defaults to all of them
  --quick              only three short rounds, and of each scale only the ends
  --only TEXT          only questions whose name contains TEXT
  --json               print the report as JSON
  --peers              install other libraries in bench/peers, and measure them too
  --out FOLDER         write the report to FOLDER/report.json
  --plot               write a chart (SVG) of each question to the folder of --out, too
  --write-docs         write charts and the report to bench/charts, and the figures into bench/README.md
  --baseline           compare with bench/baseline.json; exit with 1 if a ratio stays above three times the baseline's
  --write-baseline     write these ratios to bench/baseline.json
npm run bench -- soak [--seconds 60] [--json]
npm run bench -- compare BEFORE.json AFTER.json     list the changes beyond the noise; exit with 1 if a case is slower`;

/** The command line is invalid. The message gives the reason. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Parses the command line.
 *
 * @throws {UsageError} if it is invalid.
 */
export function readCommandLine(args: readonly string[]): Command {
  const { values, positionals } = parse(args);
  const [first, ...others] = positionals;
  const isJson = values.json ?? false;
  if (first === "compare") {
    const [before, after, ...more] = others;
    if (before === undefined || after === undefined || more.length > 0) {
      throw new UsageError("compare requires two reports");
    }
    return { kind: "compare", before, after };
  }
  if (first === "soak") {
    const seconds = Number(values.seconds ?? 60);
    if (others.length > 0) throw new UsageError("soak cannot be combined with suites");
    if (!(seconds >= 1)) throw new UsageError("--seconds must be a number of at least 1");
    return { kind: "soak", seconds, isJson };
  }
  if (values.plot && values.out === undefined) throw new UsageError("--plot requires --out FOLDER");
  const unknown = positionals.filter((name) => !SUITE_NAMES.includes(name));
  if (unknown.length > 0) throw new UsageError(`unknown suite '${unknown.join("', '")}'`);
  return {
    kind: "measure",
    suites: positionals.length > 0 ? positionals : SUITE_NAMES,
    options: {
      isJson,
      isQuick: values.quick ?? false,
      hasPeers: values.peers ?? false,
      out: values.out,
      plots: values.plot ?? false,
      writesDocs: values["write-docs"] ?? false,
      baseline: values["write-baseline"] ? "write" : values.baseline ? "check" : "ignore",
      only: values.only ?? "",
    },
  };
}

interface Values {
  readonly quick?: boolean;
  readonly json?: boolean;
  readonly peers?: boolean;
  readonly plot?: boolean;
  readonly out?: string;
  readonly "write-docs"?: boolean;
  readonly baseline?: boolean;
  readonly "write-baseline"?: boolean;
  readonly only?: string;
  readonly seconds?: string;
}

function parse(args: readonly string[]): { readonly values: Values; readonly positionals: string[] } {
  const flag = { type: "boolean" } as const;
  const text = { type: "string" } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: flag,
        json: flag,
        peers: flag,
        plot: flag,
        out: text,
        "write-docs": flag,
        baseline: flag,
        "write-baseline": flag,
        only: text,
        seconds: text,
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
