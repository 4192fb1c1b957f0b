import type { Readable, Writable } from "node:stream";
import type { Server as SdkServer } from "@modelcontextprotocol/server";
import type { Session } from "../../../sessions/session.ts";
import { peerServer, type ServerParts } from "../peer-server.ts";
import { LineTransport } from "./line-transport.ts";

/** The streams of a client. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A client over stdio. */
export interface McpStdio {
  /** Resolves when the client has closed its end, or after {@link close}. */
  readonly closed: Promise<void>;
  /** Ends the connection, and the calls of the client. */
  close(): Promise<void>;
  /** The servers of the connection. @internal */
  servers(): readonly SdkServer[];
}

/** Serves one client. Its calls run in one session, which ends with the connection. */
export function serveStdio(
  parts: ServerParts,
  open: () => Promise<Session>,
  { input = process.stdin, output = process.stdout }: Partial<StdioStreams>,
): McpStdio {
  let opened: Promise<Session> | undefined;
  const session = (): Promise<Session> => {
    opened ??= open();
    return opened;
  };
  const servers = new Set<SdkServer>();
  const transport = new LineTransport(parts.sdk, { input, output }, (problem) =>
    parts.options.onProblem?.(problem),
  );
  const serving = import("@modelcontextprotocol/server/stdio").then((sdk) =>
    sdk.serveStdio(
      ({ era }) => {
        const server = peerServer(parts, era === "modern", session);
        servers.add(server);
        return server;
      },
      { transport, onerror: (error) => parts.options.onProblem?.(error.message) },
    ),
  );
  const end = async (): Promise<void> => {
    await opened?.then((each) => each.close()).catch(() => {});
  };
  const closed = serving.then(() => transport.closed).then(end);
  return {
    closed,
    servers: () => [...servers],
    close: async () => {
      await (await serving).close();
      await closed;
    },
  };
}
