import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { Approvers } from "../cluster/approvers.ts";
import { check } from "../cluster/check.ts";
import { Client, type PostedMessage } from "../cluster/client.ts";
import { MEMORY } from "../cluster/cluster.ts";
import { readEffects } from "../cluster/effects.ts";
import { ServerProcess } from "../cluster/process.ts";
import { programOf } from "../cluster/programs.ts";
import { writeProject } from "../cluster/project.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { IngressRelay } from "./ingress-relay.ts";
import { Steps } from "./steps.ts";
import { WorkerRelay } from "./worker-relay.ts";

/** What came of a message whose server was killed. */
export interface KilledMessage {
  /** The steps up to that at which the server was killed. */
  readonly steps: readonly string[];
  readonly isKilled: boolean;
  readonly result: ToolExecution | null | undefined;
  /** The promises that were broken. */
  readonly faults: readonly string[];
}

interface Server {
  readonly process: ServerProcess;
  readonly relay: IngressRelay;
  readonly workerPort: number;
}

/** Has approvers allow everything, and answer once. */
const ALLOWS = 0.99;

/** A node of Restate and one server after the other: when one is killed, another one is ready. */
export class KillPoints implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(MEMORY, "sandgate-kills-"));
  readonly #effects = join(this.#folder, "effects.jsonl");
  readonly #worker = new WorkerRelay();
  #advertise = "";
  #restate: RestateNodes | undefined;
  #current: Server | undefined;
  #next: Promise<Server> | undefined;
  #count = 0;
  #projects = 0;

  async start(): Promise<void> {
    this.#restate = await startRestate(1, { within: this.#folder });
    this.#advertise = await this.#worker.listen();
    this.#current = await this.#startServer();
    this.#next = this.#startServer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#current, await this.#next]) {
      await server?.process.kill();
      server?.relay.close();
    }
    this.#worker.close();
    await this.#restate?.[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * Posts a message of one call, and posts it again when it has its results. People allow what is asked.
   *
   * @param isLast Whether the server is killed at a step, whose number among all is from 1.
   */
  async run(tool: string, isLast: (step: string, number: number) => boolean): Promise<KilledMessage> {
    const [server, next] = [this.#current as Server, (await this.#next) as Server];
    const steps = new Steps(isLast, () => {
      void server.process.kill();
      this.#worker.use({ workerPort: next.workerPort, steps: undefined });
    });
    const id = `${tool}-${this.#count++}`;
    const name = `${id}/c`;
    const given = tool === "run_program" ? programOf(name) : { name };
    const calls = [{ id: "c", name: tool, arguments: given }];
    const message: PostedMessage = { sessionId: `session-${id}`, principal: "p0", messageId: id, calls };
    const client = new Client([server.process.url, next.process.url], () => 0);
    const people = new Approvers(client, () => ALLOWS);
    this.#worker.use({ workerPort: server.workerPort, steps });
    server.relay.steps = steps;
    try {
      const reads = [await client.message(message), await client.message(message)];
      await people.close();
      const effects = readEffects(this.#effects).filter((effect) => `${effect.name}/`.startsWith(`${name}/`));
      const { faults } = check({ messages: [{ messageId: id, calls, reads }], effects, told: people.told });
      return { steps: steps.taken, isKilled: steps.isKilled, result: reads[0]?.[0], faults };
    } finally {
      await people.close();
      server.relay.steps = undefined;
      await client.close();
      if (steps.isKilled) {
        server.relay.close();
        this.#current = next;
        this.#next = this.#startServer();
      }
    }
  }

  async #startServer(): Promise<Server> {
    const node = this.#restate?.nodes[0] as RestateNode;
    const [port = 0, workerPort = 0] = await freePorts(2);
    const relay = new IngressRelay(node.ingress);
    const ingress = await relay.listen();
    const config = writeProject(join(this.#folder, `project-${++this.#projects}`), {
      restate: { ingress: [ingress], admin: [node.admin], port: workerPort, advertise: this.#advertise },
    });
    const process = new ServerProcess(
      { port, config, effects: this.#effects, steps: `${ingress}/steps` },
      join(this.#folder, "servers.log"),
    );
    const server = { process, relay, workerPort };
    // Its registration has Restate ask which services there are: any server knows.
    if (this.#current === undefined) this.#worker.use({ workerPort, steps: undefined });
    await process.start();
    return server;
  }
}
