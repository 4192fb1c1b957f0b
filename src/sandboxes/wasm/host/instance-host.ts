import type { LiftBudget } from "../abi/lift-budget.ts";
import type { CurrentCall } from "./current-call.ts";
import { deniedInterface } from "./denied.ts";
import type { InterfaceMembers } from "./interface-members.ts";
import { keyValue } from "./sandgate/key-value.ts";
import { toolHost } from "./sandgate/tool-host.ts";
import { tools } from "./sandgate/tools.ts";
import type { WasiGrant } from "./wasi/grant.ts";
import { type FileChanges, WasiHost } from "./wasi/host.ts";
import { BodyBudget } from "./wasi-http/body-budget.ts";
import { httpHandler } from "./wasi-http/handler.ts";
import { httpTypes } from "./wasi-http/types.ts";

const NO_CHANGES: FileChanges = Object.freeze({ writtenBytes: 0, hasChangedFiles: false });

/**
 * Provides everything that one instance can import. It lives as long as the instance, which holds its resources, and
 * acts for the call that the instance currently runs.
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
   * @param memory Is charged for what the component's resources hold.
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
