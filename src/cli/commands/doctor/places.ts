import type { ImportedServerOptions } from "../../../mcp/import/server-options.ts";
import type { PeerReport } from "../../../sandboxes/remote/peer-report.ts";
import type { Config } from "../../config/load-config.ts";
import { reportPeers } from "./peers.ts";
import { reportStores, type StoreReport } from "./stores.ts";

/** What a config uses outside this process. */
export interface Places {
  readonly stores: readonly StoreReport[];
  readonly peers: readonly PeerReport[];
}

/** Checks the stores and the peers of a config at once. */
export async function reportPlaces(
  loaded: Config,
  servers: Readonly<Record<string, ImportedServerOptions>>,
): Promise<Places> {
  const [stores, peers] = await Promise.all([
    reportStores(loaded),
    reportPeers(loaded.tools, servers, loaded.sandboxOptions),
  ]);
  return { stores, peers };
}
