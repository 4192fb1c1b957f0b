import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { ToolPreparationError } from "../contract/sandbox.ts";

/** What using an interface requires: a capability or nothing (`none`). No grant permits an `ungrantable` one. */
export type ImportAuthority = CapabilityName | "none" | "ungrantable";

/**
 * Every interface that a component may import, with the authority that it requires. Without that authority, the
 * component still starts; only its calls to the interface fail.
 */
export const WASI_INTERFACES: ReadonlyMap<string, ImportAuthority> = new Map<string, ImportAuthority>([
  // Without a grant, the environment is empty.
  ["wasi:cli/environment", "none"],
  ["wasi:cli/exit", "none"],
  ["wasi:cli/stdin", "none"],
  ["wasi:cli/stdout", "none"],
  ["wasi:cli/stderr", "none"],
  ["wasi:cli/terminal-input", "none"],
  ["wasi:cli/terminal-output", "none"],
  ["wasi:cli/terminal-stdin", "none"],
  ["wasi:cli/terminal-stdout", "none"],
  ["wasi:cli/terminal-stderr", "none"],
  ["wasi:io/error", "none"],
  ["wasi:io/poll", "none"],
  ["wasi:io/streams", "none"],
  ["wasi:clocks/wall-clock", "clock"],
  ["wasi:clocks/monotonic-clock", "clock"],
  ["wasi:clocks/timezone", "ungrantable"],
  ["wasi:random/random", "random"],
  ["wasi:random/insecure", "random"],
  ["wasi:random/insecure-seed", "random"],
  // Without a grant, there are no directories, so the types are unusable.
  ["wasi:filesystem/preopens", "none"],
  ["wasi:filesystem/types", "fs"],
  ["wasi:sockets/network", "ungrantable"],
  ["wasi:sockets/instance-network", "ungrantable"],
  ["wasi:sockets/udp", "ungrantable"],
  ["wasi:sockets/udp-create-socket", "ungrantable"],
  ["wasi:sockets/tcp", "ungrantable"],
  ["wasi:sockets/tcp-create-socket", "ungrantable"],
  ["wasi:sockets/ip-name-lookup", "ungrantable"],
  // Building a request needs no grant; sending it does.
  ["wasi:http/types", "none"],
  ["wasi:http/outgoing-handler", "net"],
  ["wasi:http/incoming-handler", "ungrantable"],
  ["sandgate:tool/host", "none"],
  ["sandgate:tool/tools", "tools"],
  ["sandgate:tool/key-value", "keyValue"],
  // Types only.
  ["sandgate:tool/types", "none"],
]);

/** Accepts any version of WASI 0.2, and version 0.1.0 of `sandgate:tool`. */
const NAME = /^(?:(wasi:[a-z]+\/[a-z-]+)@0\.2\.\d+|(sandgate:tool\/[a-z-]+)@0\.1\.0)$/;

/**
 * Returns the name of the interface that a component imports, without its version.
 *
 * @throws {ToolPreparationError} if the interface is not supported.
 */
export function checkImport(name: string): string {
  const [, wasi, own] = NAME.exec(name) ?? [];
  const interfaceName = wasi ?? own ?? "";
  if (WASI_INTERFACES.has(interfaceName)) return interfaceName;
  throw new ToolPreparationError(
    `it imports '${name.slice(0, 128)}', which is not supported: components may import interfaces of WASI 0.2`,
  );
}
