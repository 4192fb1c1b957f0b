import type { CapabilityName } from "../../policy/grant/capabilities.ts";
import { ToolPreparationError } from "../contract/sandbox.ts";

/** What it takes to use an interface: a capability, nothing, or something that no grant can give. */
export type ImportAuthority = CapabilityName | "none" | "ungrantable";

/** Every interface that a component may import. Without the authority a use fails, not the start. */
export const WASI_INTERFACES: ReadonlyMap<string, ImportAuthority> = new Map<string, ImportAuthority>([
  // Without a grant, the environment is there and empty.
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
  // Without a grant there is no directory, and so nothing to use the types on.
  ["wasi:filesystem/preopens", "none"],
  ["wasi:filesystem/types", "fs"],
  ["wasi:sockets/network", "ungrantable"],
  ["wasi:sockets/instance-network", "ungrantable"],
  ["wasi:sockets/udp", "ungrantable"],
  ["wasi:sockets/udp-create-socket", "ungrantable"],
  ["wasi:sockets/tcp", "ungrantable"],
  ["wasi:sockets/tcp-create-socket", "ungrantable"],
  ["wasi:sockets/ip-name-lookup", "ungrantable"],
  // Requests are made of them; that they are sent is what needs a grant.
  ["wasi:http/types", "none"],
  ["wasi:http/outgoing-handler", "net"],
  ["wasi:http/incoming-handler", "ungrantable"],
  ["sandgate:tool/host", "none"],
  ["sandgate:tool/tools", "tools"],
  ["sandgate:tool/key-value", "keyValue"],
  // Types only.
  ["sandgate:tool/types", "none"],
]);

/** The versions of which there are: of WASI 0.2 any, of our own this one. */
const NAME = /^(?:(wasi:[a-z]+\/[a-z-]+)@0\.2\.\d+|(sandgate:tool\/[a-z-]+)@0\.1\.0)$/;

/**
 * The interface that a component's import asks for, without its version.
 *
 * @throws {ToolPreparationError} when there is no such interface here.
 */
export function checkImport(name: string): string {
  const [, wasi, own] = NAME.exec(name) ?? [];
  const interfaceName = wasi ?? own ?? "";
  if (WASI_INTERFACES.has(interfaceName)) return interfaceName;
  throw new ToolPreparationError(
    `it imports '${name.slice(0, 128)}', which is not there: a component may import interfaces of WASI 0.2`,
  );
}
