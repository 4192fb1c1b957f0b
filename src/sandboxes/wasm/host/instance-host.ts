import type { JsonValue } from "../../../json/value.ts";
import type { LogLevel } from "../../../tool/streamed.ts";
import { nestedCallProblem, type ServiceError } from "../../guest-services/service-request.ts";
import type { LiftBudget } from "../abi/lift-budget.ts";
import type { CurrentCall } from "./current-call.ts";
import { deniedInterface, type InterfaceMembers, okOrThrow, requireBytes } from "./interface-members.ts";
import type { WasiGrant } from "./wasi/grant.ts";
import { type FileChanges, WasiHost } from "./wasi/host.ts";
import { BodyBudget } from "./wasi-http/body-budget.ts";
import { Fields } from "./wasi-http/fields.ts";
import { httpHandler, IncomingBody, RequestOptions } from "./wasi-http/handler.ts";
import { OutgoingBody, OutgoingRequest } from "./wasi-http/outgoing-request.ts";

/** The engine's error codes that are cases of `call-error-code`. */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  "not_found",
  "validation_error",
  "permission_denied",
  "user_denied",
  "confirmation_timeout",
  "timeout",
  "cancelled",
  "execution_error",
  "sandbox_unavailable",
  "limit_exceeded",
  "limit_unenforceable",
]);

const NO_CHANGES: FileChanges = Object.freeze({ writtenBytes: 0, hasChangedFiles: false });

/**
 * Provides everything that one instance can import. It lives as long as the instance, which owns its
 * resources, and acts for the call that the instance currently runs.
 */
export class InstanceHost implements Disposable {
  readonly #grant: WasiGrant;
  /** Created on first use. */
  #wasi: WasiHost | undefined;
  readonly #interfaces = new Map<string, object>();
  readonly #bodies: BodyBudget;
  readonly #memory: LiftBudget;
  #call: CurrentCall;

  /**
   * @param netBytes The maximum size of all request and response bodies of one call.
   * @param memory Is charged for the memory of the component's resources.
   * @param call The first call.
   */
  constructor(grant: WasiGrant, netBytes: number, memory: LiftBudget, call: CurrentCall) {
    this.#call = call;
    this.#memory = memory;
    this.#bodies = new BodyBudget(netBytes);
    this.#grant = grant;
  }

  /** Starts another call. */
  begin(call: CurrentCall): void {
    this.#call = call;
    this.#bodies.refill();
  }

  /** Returns an interface by its name without version. */
  interface(name: string): object {
    const known = this.#interfaces.get(name);
    if (known !== undefined) return known;
    const members = this.#members(name);
    const made = members === undefined ? this.#openWasi().interface(name) : deniedInterface(name, members);
    this.#interfaces.set(name, made);
    return made;
  }

  #members(name: string): InterfaceMembers | undefined {
    const call = (): CurrentCall => this.#call;
    switch (name) {
      case "sandgate:tool/host":
        return toolHost(call);
      case "sandgate:tool/tools":
        return tools(call);
      case "sandgate:tool/key-value":
        return keyValue(call);
      case "wasi:http/types":
        return httpTypes(this.#bodies, this.#memory);
      case "wasi:http/outgoing-handler":
        return httpHandler(call, this.#bodies, this.#memory);
      default:
        return undefined;
    }
  }

  #openWasi(): WasiHost {
    this.#wasi ??= new WasiHost(this.#grant, (level, line) => this.#call.log.write(level, line));
    return this.#wasi;
  }

  /** Ends the call. Logs output that did not end with a newline. Returns what the call did to files. */
  end(): FileChanges {
    return this.#wasi?.end() ?? NO_CHANGES;
  }

  [Symbol.dispose](): void {
    this.#wasi?.[Symbol.dispose]();
  }
}

/** Returns `sandgate:tool/host` (`wit/tool.wit`). */
function toolHost(call: () => CurrentCall): InterfaceMembers {
  const log = (level: LogLevel, line: string): void => call().log.write(level, line);
  return {
    // A component declares the types of the arguments itself, so they can be any values.
    log: (level: unknown, message: unknown) => log(isLevel(level) ? level : "info", String(message)),
    progress(done: unknown, total: unknown, message: unknown): void {
      const share = total === undefined ? String(done) : `${String(done)} of ${String(total)}`;
      log("info", message === undefined ? `progress: ${share}` : `progress: ${share}: ${String(message)}`);
    },
    cancelled: () => call().isOver,
  };
}

function isLevel(level: unknown): level is LogLevel {
  return level === "debug" || level === "info" || level === "warn" || level === "error";
}

/**
 * Returns `wasi:http/types` for HTTP clients. It does not access the network, so it works without a grant. The parts
 * for servers are denied. Resources that only the host creates have no constructor.
 */
function httpTypes(budget: BodyBudget, memory: LiftBudget): InterfaceMembers {
  const fromList = Fields.fromList.bind(undefined, memory);
  return {
    Fields: Object.assign(Fields.bind(undefined, memory), { fromList }),
    OutgoingRequest: OutgoingRequest.bind(undefined, budget, memory),
    RequestOptions,
    OutgoingBody: { finish: OutgoingBody.finish },
    IncomingBody: { finish: IncomingBody.finish },
    httpErrorCode: () => undefined,
  };
}

/** Returns `sandgate:tool/tools` (`wit/tool.wit`). Which tools may be called is checked outside the thread. */
function tools(call: () => CurrentCall): InterfaceMembers {
  return {
    callTool(name: unknown, input: unknown): string {
      const request = { kind: "call-tool", name: String(name), input: String(input) } as const;
      const problem = nestedCallProblem(request.name, request.input);
      if (problem !== undefined) return okOrThrow({ error: problem });
      const reply = call().ask<JsonValue, ServiceError>(request);
      if ("ok" in reply || KNOWN_CODES.has(reply.error.code)) return JSON.stringify(okOrThrow(reply));
      return okOrThrow({ error: { ...reply.error, code: "execution_error" } });
    },
  };
}

/** Returns `sandgate:tool/key-value` (`wit/tool.wit`). Access to stores is checked outside the thread. */
export function keyValue(call: () => CurrentCall): InterfaceMembers {
  return {
    get(store: unknown, key: unknown): Uint8Array | undefined {
      const value = okOrThrow(
        call().ask<string | null, ServiceError>({ kind: "get", store: String(store), key: String(key) }),
      );
      return value === null ? undefined : new Uint8Array(Buffer.from(value, "base64"));
    },
    set(store: unknown, key: unknown, value: unknown): void {
      const base64 = Buffer.from(requireBytes(value, "sandgate:tool/key-value")).toString("base64");
      okOrThrow(
        call().ask<null, ServiceError>({
          kind: "set",
          store: String(store),
          key: String(key),
          value: base64,
        }),
      );
    },
    delete(store: unknown, key: unknown): void {
      okOrThrow(call().ask<null, ServiceError>({ kind: "delete", store: String(store), key: String(key) }));
    },
    listKeys(store: unknown, after: unknown): readonly string[] {
      const cursor = after === undefined ? undefined : String(after);
      return okOrThrow(
        call().ask<string[], ServiceError>({ kind: "list-keys", store: String(store), after: cursor }),
      );
    },
  };
}
