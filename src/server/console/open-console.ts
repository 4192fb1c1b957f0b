import { Redaction } from "../../redaction/redaction.ts";
import type { ReloadableTools } from "../reloadable-tools.ts";
import type { CallFacts } from "./calls/call-ring.ts";
import { Console, type ServerState } from "./console.ts";
import type { ServedConsole } from "./options.ts";

interface OpenConsoleOptions extends Pick<CallFacts, "sessionOf"> {
  readonly journal: boolean;
  readonly redaction?: Redaction | undefined;
}

/**
 * Opens the console of a server with these tools.
 *
 * @param options.journal Whether the server records its calls.
 * @param options.redaction That of the server. Default: one that hides common secrets.
 * @throws {TypeError} as a rejection: see {@link Console.open}.
 */
export function openConsole(
  options: ServedConsole,
  tools: ReloadableTools,
  { journal, redaction = new Redaction(), sessionOf }: OpenConsoleOptions,
): Promise<Console> {
  return Console.open(options, {
    redaction,
    tools: () => tools.registry.subjects,
    sessionOf,
    state: () => stateOf(tools, journal),
    sideEffectsOf: (name) => tools.registry.find(name)?.tool.sideEffects,
  });
}

function stateOf({ registry, policy, isPaused }: ReloadableTools, journal: boolean): ServerState {
  const { revision } = policy;
  return {
    ...(revision !== undefined && { policyRevision: revision }),
    paused: isPaused,
    journal,
    tools: registry.size,
  };
}
