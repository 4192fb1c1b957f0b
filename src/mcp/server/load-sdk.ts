type Sdk = typeof import("@modelcontextprotocol/server");

let loading: Promise<Sdk> | undefined;

/**
 * Loads the SDK on first use: it takes longer to load than this package, and is an optional peer.
 *
 * @throws {TypeError} as a rejection, if it is not installed.
 */
export function loadSdk(): Promise<Sdk> {
  loading ??= import("@modelcontextprotocol/server").catch((cause: unknown) => {
    loading = undefined;
    throw new TypeError("an MCP server needs the package @modelcontextprotocol/server: install it", {
      cause,
    });
  });
  return loading;
}

/** The SDK, once it is loaded. */
export type { Sdk };
