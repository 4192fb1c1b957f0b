import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { stringify } from "yaml";

/** What the servers of a cluster are told. */
export interface ProjectOptions {
  /** The nodes of Restate, and the port that all servers share. Default: the server keeps its sessions in a file. */
  readonly restate?: {
    readonly ingress: readonly string[];
    readonly admin: readonly string[];
    readonly port: number;
    /** The URL under which Restate reaches all servers. Default: that of the port. */
    readonly advertise?: string;
  };
  /** The URL of the database that all servers share. Default: none. */
  readonly postgres?: string;
  /** How long a person is waited for, in ms. Default: as sessions have it. */
  readonly timeoutMs?: number;
}

/** How many principals have sessions: `p0`, `p1` and so on. */
export const PRINCIPALS = 25;
/** The people who answer for all of them. */
export const PEOPLE = ["ann", "bob"] as const;

const TOOLS = [
  { name: "note", sideEffects: "write", confirm: "auto" },
  { name: "put", sideEffects: "write", confirm: "auto", idempotent: true },
  { name: "read", sideEffects: "read" },
  { name: "pure", sideEffects: "none" },
  { name: "asks", sideEffects: "write", confirm: "always" },
];

/** Returns the token with which a principal or a person makes requests. */
export function tokenOf(id: string): string {
  return id.padEnd(40, "-");
}

/** Writes the config of a server and the tokens of its clients into a folder. Returns the file of the config. */
export function writeProject(folder: string, { restate, postgres, timeoutMs }: ProjectOptions): string {
  mkdirSync(folder);
  const credential = (id: string, more: object) => {
    writeFileSync(join(folder, id), tokenOf(id));
    return { id, token: { file: id }, ...more };
  };
  const callers = Array.from({ length: PRINCIPALS }, (_, index) => `p${index}`);
  const names = TOOLS.map(({ name }) => name);
  // Each start of a server would strip the types again.
  const tools = readFileSync(join(import.meta.dirname, "tools.ts"), "utf8");
  writeFileSync(join(folder, "tools.mjs"), stripTypeScriptTypes(tools));
  writeFileSync(join(folder, "programs.keys"), `k1 ${"07".repeat(32)}\n`, { mode: 0o600 });
  const config = {
    tools: TOOLS.map((tool) => ({
      description: "Writes a line.",
      inputSchema: { type: "object" },
      ...tool,
      host: { module: "tools.mjs", export: tool.name, thread: false },
    })),
    toolsets: ["programs"],
    policy: {
      rules: [
        {
          tools: ["run_program"],
          effect: "allow",
          sandboxes: ["quickjs"],
          capabilities: { tools: names },
        },
        { tools: names, effect: "allow", sandboxes: ["host"] },
      ],
    },
    sessions: { programs: { keys: "programs.keys" } },
    server: {
      sessions: true,
      credentials: [
        ...callers.map((id) => credential(id, { roles: ["caller"] })),
        ...PEOPLE.map((id) => credential(id, { roles: ["approver"], approves: ["*"] })),
      ],
    },
    confirmations: {
      tools: { run_program: "auto" },
      ...(timeoutMs !== undefined && { timeout: `${timeoutMs}ms` }),
    },
    ...(postgres !== undefined && { durable: { postgres: { url: postgres, lease: "3s" } } }),
    ...(restate && {
      durable: {
        restate: {
          ingress: restate.ingress,
          admin: restate.admin,
          listen: { port: restate.port, reusePort: true },
          ...(restate.advertise !== undefined && { advertise: restate.advertise }),
        },
      },
    }),
  };
  const file = join(folder, "sandgate.yaml");
  writeFileSync(file, stringify(config));
  return file;
}
