import type { FsGrant } from "../../src/policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../src/policy/grant/limits.ts";
import type { NetGrant } from "../../src/policy/grant/net-grant.ts";

/**
 * A way out of the sandbox that a program tries. Its script gets the variables of `scene.ts`, and begins in the workspace.
 * It is out if it prints `OUT` in a line of its own or the scene's secret, or if it changes the scene.
 */
export interface Attempt {
  readonly group: string;
  readonly name: string;
  readonly script: string;
  /** What is done to the scene beforehand, as a script that runs unconfined. */
  readonly before?: string;
  /** Whether the workspace is granted with `write`. Default: `false`. */
  readonly write?: boolean;
  /** Where its requests may go. Default: it has no network. */
  readonly net?: readonly NetGrant[];
  readonly limits?: ResourceLimits;
  /** What shows that the attempt can succeed where it is allowed. Default: the same script unconfined. */
  readonly control?: Control;
}

/** The same script in the sandbox with other grants or limits, or another script unconfined. */
export type Control =
  | { readonly fs: (workspace: string, outside: string) => readonly FsGrant[] }
  | { readonly limits: ResourceLimits }
  | { readonly script: string };

/** The names of attempts, with their groups. */
export function attemptNames(list: readonly Attempt[]): readonly string[] {
  return list.map(({ group, name }) => `${group}: ${name}`);
}

/** Everything of an attempt but its group, by its name; a string is its script. */
export type Attempts = Readonly<Record<string, string | Omit<Attempt, "group" | "name">>>;

export function attempts(group: string, list: Attempts): readonly Attempt[] {
  return Object.entries(list).map(([name, given]) => ({
    group,
    name,
    ...(typeof given === "string" ? { script: given } : given),
  }));
}
