import { shown } from "../../../rendering/shown.ts";
import type { RestateRuntime } from "../../../restate/sessions/open-restate.ts";
import { UsageError } from "../../errors.ts";
import type { LoadedConfig } from "./load.ts";

/**
 * Opens what keeps the sessions of several servers, and runs their calls, if the config says so. The server closes it.
 *
 * @throws {UsageError} if Restate cannot be used, or no sessions are served.
 */
export async function openDurable({
  served,
  durable,
}: Pick<LoadedConfig, "served" | "durable">): Promise<RestateRuntime | undefined> {
  if (durable === undefined) return undefined;
  if (served === undefined)
    throw new UsageError(shown`durable needs sessions: set server.sessions in the config`);
  // Loaded only for those who need it.
  const { openRestate } = await import("../../../restate/sessions/open-restate.ts");
  try {
    return await openRestate(durable);
  } catch (error) {
    throw new UsageError(shown`cannot use Restate: ${(error as Error).message}`);
  }
}
