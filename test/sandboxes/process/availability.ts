import { landlockProblem } from "../../../src/sandboxes/process/landlock/landlock-launcher.ts";
import { Bubblewrap } from "../../../src/sandboxes/process/namespaces/bubblewrap.ts";
import type { Isolation } from "../../../src/tool/sandbox-mode.ts";

/** Why programs cannot be confined with namespaces on this machine; `undefined` if they can. */
export const unavailable: string | undefined = await Bubblewrap.open().then(
  (bubblewrap) => bubblewrap[Symbol.asyncDispose]().then(() => undefined),
  (error: Error) => error.message,
);

/** Why they cannot be confined with Landlock; `undefined` if they can. */
export const landlockUnavailable: string | undefined = await landlockProblem();

/** What can confine programs on this machine. */
export const ISOLATIONS: readonly Isolation[] = [
  ...(unavailable === undefined ? (["namespaces"] as const) : []),
  ...(landlockUnavailable === undefined ? (["landlock"] as const) : []),
];

/** Leaves out the lines which say that programs are confined with less than namespaces, since these are missing here. */
export function withoutFallbackNote(text: string): string {
  return text.replaceAll(/^.*Programs are confined with Landlock, which holds less than.*\n/gm, "");
}

if (unavailable !== undefined) console.warn(`Tests of programs in namespaces are skipped: ${unavailable}`);
if (landlockUnavailable !== undefined)
  console.warn(`Tests of programs on Landlock are skipped: ${landlockUnavailable}`);
