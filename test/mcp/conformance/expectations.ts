import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import type { Revision, ScenarioResult } from "./run-scenarios.ts";

interface Entry {
  readonly revision: string;
  readonly side: string;
  readonly scenario: string;
  readonly reason: string;
}

/** What is expected of scenarios besides that they pass. */
export interface Expectations {
  readonly failures: readonly Entry[];
  readonly skips: readonly (Entry & { readonly checks: number })[];
}

/** Reads `expected-failures.yaml`. */
export async function readExpectations(): Promise<Expectations> {
  return parse(await readFile(new URL("expected-failures.yaml", import.meta.url), "utf8"));
}

/** How a scenario ended. */
export interface Verdict {
  readonly passed: boolean;
  readonly isExpected: boolean;
  /** A line for the report; `undefined` if there is nothing to say. */
  readonly line: string | undefined;
}

/** Compares the result of a scenario with what is expected of it. */
export function judge(
  { failures, skips }: Expectations,
  revision: Revision,
  side: "server" | "client" | "proxy",
  { name, missed }: ScenarioResult,
): Verdict {
  const isAbout = (entry: Entry): boolean =>
    entry.revision === revision && entry.side === side && entry.scenario === name;
  const skip = skips.find(isAbout);
  const skipped = missed.filter((check) => /^\S+: SKIPPED /.test(check)).length;
  const isAllSkipped = skip !== undefined && skipped === skip.checks && skipped === missed.length;
  const passed = missed.length === 0 ? skip === undefined : isAllSkipped;
  const failure = failures.find(isAbout);
  const isExpected = passed === (failure === undefined);
  const what = passed ? "passes" : missed.join("; ").slice(0, 500) || "skips no check";
  const line = (why: string): string => `${revision} ${side} ${name}: ${why}${what}`;
  if (!isExpected) return { passed, isExpected, line: line(passed ? "expected to fail, and " : "") };
  if (failure !== undefined) return { passed, isExpected, line: line(`expected (${failure.reason}): `) };
  return { passed, isExpected, line: undefined };
}
