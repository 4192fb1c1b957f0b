import type { FsMode } from "../tool/supervised-agent.ts";
import {
  type AgentCapabilities,
  type AgentQuotas,
  checkAgentCapabilities,
  type FsCapability,
  isCanonicalPath,
  pathOf,
} from "./agent-capabilities.ts";
import { isWithinOrigin, type OriginPattern, parseOrigin } from "./grant/net-grant.ts";
import { compileNamePattern, type NamePattern } from "./match/name-pattern.ts";

/** A change of an agent's capabilities. */
export interface KernelChange {
  readonly kind: "granted" | "revoked";
  readonly agent: string;
  /** What was added or taken away. */
  readonly capabilities: Required<AgentCapabilities>;
}

/** What one agent is granted, compiled. */
interface AgentGrant {
  readonly capabilities: Required<AgentCapabilities>;
  readonly tools: readonly NamePattern[];
  readonly origins: readonly OriginPattern[];
}

const NOTHING = checkAgentCapabilities({});

/**
 * The capabilities of each agent. The checks are pure and synchronous: paths must be canonical already. What is not granted
 * is refused. Agents cannot reach it: only the process that supervises them grants and revokes, with effect on calls that
 * begin later.
 */
export class CapabilityKernel {
  readonly #agents = new Map<string, AgentGrant>();
  readonly #used = new Map<string, Map<string, number>>();
  readonly #listeners = new Set<(change: KernelChange) => void>();

  /**
   * Grants capabilities besides those that the agent has. Limits replace those of the same name.
   *
   * @throws {TypeError} if they are invalid.
   */
  grant(agent: string, capabilities: AgentCapabilities): void {
    if (typeof agent !== "string" || agent === "") throw new TypeError("an agent needs an id");
    const added = checkAgentCapabilities(capabilities);
    const { tools, fs, net, limits } = this.#agents.get(agent)?.capabilities ?? NOTHING;
    this.#set(agent, {
      tools: [...new Set([...tools, ...added.tools])],
      fs: [...fs.filter((one) => !added.fs.some((other) => isSame(one, other))), ...added.fs],
      net: [...new Set([...net, ...added.net])],
      limits: {
        ...limits,
        ...added.limits,
        callsPerTool: { ...limits.callsPerTool, ...added.limits.callsPerTool },
      },
    });
    this.#notify({ kind: "granted", agent, capabilities: added });
  }

  /**
   * Takes capabilities away: those that equal a given one. Limits stay.
   *
   * @param capabilities Default: all of them, and the counts of the agent's calls.
   * @throws {TypeError} if they are invalid.
   */
  revoke(agent: string, capabilities?: Omit<AgentCapabilities, "limits">): void {
    const granted = this.#agents.get(agent)?.capabilities;
    const taken = checkAgentCapabilities(capabilities ?? granted ?? {});
    if (granted === undefined) return;
    if (capabilities === undefined) {
      this.#agents.delete(agent);
      this.#used.delete(agent);
    } else {
      this.#set(agent, {
        tools: granted.tools.filter((pattern) => !taken.tools.includes(pattern)),
        fs: granted.fs.filter((one) => !taken.fs.some((other) => isSame(one, other))),
        net: granted.net.filter((origin) => !taken.net.includes(origin)),
        limits: granted.limits,
      });
    }
    this.#notify({ kind: "revoked", agent, capabilities: taken });
  }

  /** The capabilities of an agent, frozen; `undefined` if it is not known. */
  capabilitiesOf(agent: string): Required<AgentCapabilities> | undefined {
    return this.#agents.get(agent)?.capabilities;
  }

  /** Whether the agent may call the tool. */
  checkTool(agent: string, tool: string): boolean {
    return this.#agents.get(agent)?.tools.some((pattern) => pattern.matches(tool)) ?? false;
  }

  /** Whether the agent may have the file or folder read (`r`), or also written (`rw`). */
  checkFs(agent: string, canonicalPath: string, mode: FsMode): boolean {
    return this.fsCapabilityFor(agent, canonicalPath, mode) !== undefined;
  }

  /** Whether the agent may have requests sent to the origin. */
  checkNet(agent: string, origin: string): boolean {
    const granted = this.#agents.get(agent);
    if (granted === undefined) return false;
    let asked: OriginPattern;
    try {
      asked = parseOrigin(origin);
    } catch {
      return false;
    }
    return granted.origins.some((pattern) => isWithinOrigin(asked, pattern));
  }

  /** The capability that gives the agent a path: the longest. A prefix is compared name by name. @internal */
  fsCapabilityFor(agent: string, canonicalPath: string, mode: FsMode): FsCapability | undefined {
    const { fs } = this.#agents.get(agent)?.capabilities ?? NOTHING;
    if (!isCanonicalPath(canonicalPath)) return undefined;
    return fs
      .filter((each) => (mode === "r" || each.write === true) && isWithin(canonicalPath, each))
      .reduce<FsCapability | undefined>(
        (best, each) => (best === undefined || pathOf(each).length > pathOf(best).length ? each : best),
        undefined,
      );
  }

  /**
   * Counts a call that is allowed.
   *
   * @returns The text of the limit that it would exceed; then it is not counted.
   */
  count(agent: string, tool: string): string | undefined {
    const { limits } = this.#agents.get(agent)?.capabilities ?? NOTHING;
    const used = this.#used.get(agent) ?? new Map<string, number>();
    const full = fullLimit(limits, used, tool);
    if (full !== undefined) return full;
    used.set(tool, (used.get(tool) ?? 0) + 1);
    this.#used.set(agent, used);
    return undefined;
  }

  /**
   * Calls a function after each change.
   *
   * @returns a function that removes the listener.
   */
  onChange(listener: (change: KernelChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #set(agent: string, given: AgentCapabilities): void {
    const capabilities = checkAgentCapabilities(given);
    const tools = capabilities.tools.map(compileNamePattern);
    this.#agents.set(agent, { capabilities, tools, origins: capabilities.net.map(parseOrigin) });
  }

  #notify(change: KernelChange): void {
    for (const listener of this.#listeners) listener(Object.freeze(change));
  }
}

function isSame(one: FsCapability, other: FsCapability): boolean {
  return pathOf(one) === pathOf(other) && one.write === other.write;
}

function isWithin(path: string, capability: FsCapability): boolean {
  const granted = pathOf(capability);
  if (path === granted) return true;
  return !("file" in capability) && path.startsWith(granted === "/" ? "/" : `${granted}/`);
}

function fullLimit(
  { calls, callsPerTool = {} }: AgentQuotas,
  used: ReadonlyMap<string, number>,
  tool: string,
): string | undefined {
  if (calls !== undefined && used.values().reduce((sum, count) => sum + count, 0) >= calls)
    return `this agent made ${calls} calls, its limit`;
  const most = Object.hasOwn(callsPerTool, tool) ? (callsPerTool[tool] as number) : Number.POSITIVE_INFINITY;
  if ((used.get(tool) ?? 0) < most) return undefined;
  return `tool '${tool}' was called ${most} times, its limit for this agent`;
}
