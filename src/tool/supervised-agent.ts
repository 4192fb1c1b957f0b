/** The access to a file: reading, or reading and writing. */
export type FsMode = "r" | "rw";

/** An agent that runs under a supervisor. */
export interface AgentInfo {
  readonly id: string;
  /** The number of its process on this machine; of a confined agent, that of the first process of its sandbox. */
  readonly pid: number;
}

/** What the kernel allows one agent, for tools that decide about a resource that no argument names. Nothing is changed by it. */
export interface KernelChecks {
  checkTool(tool: string): boolean;
  /** @param path An absolute path of this machine. Links in it are resolved. */
  checkFs(path: string, mode: FsMode): boolean;
  /** @param origin Such as `https://api.example.com`. */
  checkNet(origin: string): boolean;
}

/** The agent that makes a call, with what the kernel allows it. */
export interface CallingAgent extends AgentInfo {
  readonly kernel: KernelChecks;
}
