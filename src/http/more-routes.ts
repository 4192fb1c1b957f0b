import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FRAMES_PATH } from "../remote-protocol/frames/frame.ts";
import type { DISPATCH_PATH, METRICS_PATH, TOOLS_PATH } from "../remote-protocol/http.ts";
import type { Authentication, Sender } from "./authentication.ts";
import type { Metric } from "./prometheus-text.ts";
import type { HostCheck } from "./request.ts";

/** A route of the executor that needs a credential, by its method and path. */
export type ExecutorRoute =
  | `POST ${typeof DISPATCH_PATH}`
  | `GET ${typeof FRAMES_PATH | typeof TOOLS_PATH | typeof METRICS_PATH}`;

/** Routes in addition to those of the remote protocol, on the same server. */
export interface MoreRoutes {
  /** Whether a request is for these routes. */
  has(request: IncomingMessage): boolean;
  /**
   * Responds to a request that is for these routes.
   *
   * @throws {RequestRefusal} as a rejection.
   */
  handle(request: IncomingMessage, response: ServerResponse, guards: Guards): Promise<void>;
  /** Whether they accept credentials of their own: a request without any is then never accepted. */
  readonly hasCredentials: boolean;
  /**
   * Checks whether an authenticated sender may use a route of the executor.
   *
   * @param route Its method and path: `POST /v1/dispatch`.
   * @throws {RequestRefusal} otherwise.
   */
  admit(route: ExecutorRoute, sender: Sender): void;
  /** Why no call that is accepted now would run; `undefined` if calls run. */
  readonly unreadiness: string | undefined;
  /** Metrics in addition to those of the executor. */
  readMetrics(): readonly Metric[];
  /** Ends everything that is under way. Later requests are refused. */
  drain(): Promise<void>;
}

/** The checks that every request has to pass. */
export interface Guards {
  readonly hostCheck: HostCheck;
  readonly authentication: Authentication;
  /** @throws {RequestRefusal} `unauthenticated` if the authorities that verified the client's certificate were replaced. */
  refuseRetired(socket: Socket): void;
}
