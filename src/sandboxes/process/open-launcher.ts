import type { Isolation } from "../../tool/isolation.ts";
import { ToolPreparationError } from "../contract/sandbox.ts";
import { LandlockLauncher } from "./landlock/landlock-launcher.ts";
import type { Launcher } from "./launcher.ts";
import { Bubblewrap } from "./namespaces/bubblewrap.ts";

/** A launcher, and why it is not the one that holds most. */
interface OpenedLauncher {
  readonly launcher: Launcher;
  /** Why there are no namespaces, if they were not chosen. */
  readonly fellBack?: string;
}

/**
 * Opens the launcher that confines programs with namespaces, or else the one with Landlock.
 *
 * @param required Only this one. Default: the first that works.
 * @param bubblewrap Its absolute path.
 * @throws {ToolPreparationError} if there is none. The message says why.
 */
export async function openLauncher(required?: Isolation, bubblewrap?: string): Promise<OpenedLauncher> {
  const problems: string[] = [];
  for (const [isolation, open] of LAUNCHERS) {
    if (required !== undefined && required !== isolation) continue;
    try {
      const launcher = await open(bubblewrap);
      const [fellBack] = problems;
      return { launcher, ...(fellBack !== undefined && { fellBack }) };
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  throw new ToolPreparationError(problems.join("; "));
}

/** Those that hold more come first. */
const LAUNCHERS: readonly (readonly [Isolation, (bubblewrap?: string) => Promise<Launcher>])[] = [
  ["namespaces", (bubblewrap) => Bubblewrap.open(bubblewrap)],
  ["landlock", () => LandlockLauncher.open()],
];
