import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../../record/postgres-server.ts";
import { freePorts } from "../free-ports.ts";
import { startRestate } from "../restate-nodes.ts";
import { ServerProcess, type Victim } from "./process.ts";
import { writeProject } from "./project.ts";

/** What a cluster consists of. */
export interface ClusterShape {
  /** How many nodes of Restate; none for a control, or PostgreSQL. */
  readonly nodes: number;
  /** Whether the servers share a server of PostgreSQL, which is the only node then. Default: `false`. */
  readonly postgres?: boolean;
  readonly servers: number;
  /** How long a person is waited for, in ms. Default: as sessions have it. */
  readonly timeoutMs?: number;
  /** By how much the clock of each server is wrong, in ms. Default: they are right. */
  readonly clocksMs?: readonly number[];
  /** The program of the command `sandgate`. Default: the sources. */
  readonly main?: string;
}

/** Nodes of Restate and servers, in processes of this machine. */
export interface Cluster extends AsyncDisposable {
  readonly servers: readonly ServerProcess[];
  readonly nodes: readonly (Victim & { readonly pid: number; readonly admin: string })[];
  /** The file of effects. */
  readonly effects: string;
}

/** A file system in memory, if there is one: a process that is killed loses nothing that the kernel has. */
export const MEMORY: string = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Starts a cluster, and waits until all of it is healthy. */
export async function startCluster({
  nodes: count,
  postgres: isPostgres = false,
  servers,
  timeoutMs,
  clocksMs = [],
  main,
}: ClusterShape): Promise<Cluster> {
  const folder = mkdtempSync(join(MEMORY, "sandgate-cluster-"));
  const effects = join(folder, "effects.jsonl");
  const restate = count === 0 ? undefined : await startRestate(count, { within: MEMORY });
  const postgres = isPostgres ? await startPostgres() : undefined;
  const [workerPort = 0, ...ports] = await freePorts(servers + 1);
  const config = writeProject(join(folder, "project"), {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(postgres && { postgres: postgres.url }),
    ...(restate && {
      restate: {
        ingress: restate.nodes.map(({ ingress }) => ingress),
        admin: restate.nodes.map(({ admin }) => admin),
        port: workerPort,
      },
    }),
  });
  const started = ports.map((port, index) => {
    const options = {
      port,
      config,
      effects,
      clockMs: clocksMs[index] ?? 0,
      ...(main !== undefined && { main }),
    };
    return new ServerProcess(options, join(folder, `server-${index}.log`));
  });
  const dispose = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.kill()));
    await restate?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(started.map((server) => server.start()));
  } catch (error) {
    await dispose();
    throw error;
  }
  const nodes: Cluster["nodes"][number][] = (restate?.nodes ?? []).map((node) => ({
    kind: "node",
    kill: () => node.kill(),
    start: () => node.start(),
    admin: node.admin,
    get pid() {
      return node.pid;
    },
  }));
  if (postgres !== undefined) {
    nodes.push({
      kind: "node",
      kill: () => postgres.kill("server"),
      start: () => postgres.start(),
      admin: "",
      get pid() {
        return postgres.pid();
      },
    });
  }
  return { servers: started, nodes, effects, [Symbol.asyncDispose]: dispose };
}
