import { ToolPreparationError } from "../../contract/sandbox.ts";

/** What the SDK exports. */
export type Sdk = typeof import("@modelcontextprotocol/client");

let loading: Promise<Sdk> | undefined;

/**
 * Loads the SDK on first use: it takes 100 ms, and is an optional peer.
 *
 * @throws {ToolPreparationError} if it is not installed.
 */
export function loadSdk(): Promise<Sdk> {
  loading ??= import("@modelcontextprotocol/client").catch((cause: unknown) => {
    loading = undefined;
    const isMissing = (cause as NodeJS.ErrnoException | undefined)?.code === "ERR_MODULE_NOT_FOUND";
    const why = isMissing ? "install it" : cause instanceof Error ? cause.message : String(cause);
    throw new ToolPreparationError(`MCP needs the package @modelcontextprotocol/client: ${why}`);
  });
  return loading;
}
