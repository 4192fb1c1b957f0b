import { beginning } from "../../../base/text.ts";

/** Something about an MCP server that operators may want to know. */
export interface McpNotice {
  /**
   * - `connected`: it answered, even after a restart
   * - `ended`: its connection ended, or could not be opened
   * - `server_down`: it ended too often, and is not started again for a while
   * - `problem`: it sent something that was ignored
   * - `stderr`: a line that it wrote to its standard error
   * - `log`: a message that it logged over the protocol
   */
  readonly kind: "connected" | "ended" | "server_down" | "problem" | "stderr" | "log";
  /** The name of the server in the configuration. */
  readonly server: string;
  /** It may have text of the server: show it only rendered. At most 2,000 characters. */
  readonly message: string;
}

/** Receives each notice. Must not throw. */
export type OnMcpNotice = (notice: McpNotice) => void;

const MAX_LENGTH = 2_000;

/** Makes the notices of one server, with a bound on the length of each. */
export function noticesOf(
  server: string,
  onNotice: OnMcpNotice | undefined,
): (kind: McpNotice["kind"], message: string) => void {
  return (kind, message) => onNotice?.({ kind, server, message: beginning(message, MAX_LENGTH) });
}

/** Tells operators something about one server. */
export type Notify = ReturnType<typeof noticesOf>;
