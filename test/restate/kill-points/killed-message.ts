import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { AnswerOutcome } from "../../../src/sessions/confirmations/answer.ts";
import { Client } from "../cluster/client.ts";
import { type Effect, readEffects } from "../cluster/effects.ts";
import { ServerProcess } from "../cluster/process.ts";
import type { PostedMessage } from "../cluster/server.ts";
import { freePorts, type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { IngressRelay } from "./ingress-relay.ts";
import { Steps } from "./steps.ts";
import { WorkerRelay } from "./worker-relay.ts";

/** What came of a message whose server was killed. */
export interface KilledMessage {
  /** The steps up to that at which the server was killed. */
  readonly steps: readonly string[];
  readonly isKilled: boolean;
  /** What the client was told that posted the message, and what it is told when it asks again. */
  readonly results: readonly (readonly ToolExecution[])[];
  readonly effects: readonly Effect[];
  /** The inquiries that people saw. */
  readonly inquiries: readonly string[];
  /** What became of their answers. */
  readonly outcomes: readonly AnswerOutcome["outcome"][];
}

interface Server {
  readonly process: ServerProcess;
  readonly relay: IngressRelay;
  readonly workerPort: number;
}

const MEMORY = "/dev/shm";
const POLL_EVERY_MS = 50;

/** A node of Restate and one server after the other: when one is killed, another one is ready. */
export class KillPoints {
  readonly #folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "sandgate-kills-"));
  readonly #effects = join(this.#folder, "effects.jsonl");
  readonly #worker = new WorkerRelay();
  #advertise = "";
  #restate: RestateNodes | undefined;
  #current: Server | undefined;
  #next: Promise<Server> | undefined;
  #count = 0;

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

  /** Posts a message of one call, and kills the server at a step; answers all questions with yes. */
  async run(tool: string, killAt: number): Promise<KilledMessage> {
    const [server, next] = [this.#current as Server, (await this.#next) as Server];
    const steps = new Steps(killAt, () => {
      void server.process.kill();
      this.#worker.use({ workerPort: next.workerPort, steps: undefined });
    });
    const id = `${tool}-${this.#count++}`;
    const client = new Client([server.process.url, next.process.url], () => 0);
    const message: PostedMessage = {
      ...{ sessionId: `session-${id}`, principal: id, messageId: id },
      calls: [{ id: "c", name: tool, arguments: { name: id } }],
    };
    this.#worker.use({ workerPort: server.workerPort, steps });
    server.relay.steps = steps;
    const ended = new AbortController();
    const people = this.#answer(client, id, ended.signal);
    try {
      const results = [await client.message(message)];
      results.push(await client.message(message));
      ended.abort();
      const effects = readEffects(this.#effects).filter(({ name }) => name === id);
      return { steps: steps.taken, isKilled: steps.isKilled, results, effects, ...(await people) };
    } finally {
      ended.abort();
      server.relay.steps = undefined;
      await client.close();
      if (steps.isKilled) {
        server.relay.close();
        this.#current = next;
        this.#next = this.#startServer();
      }
    }
  }

  async #answer(
    client: Client,
    messageId: string,
    signal: AbortSignal,
  ): Promise<Pick<KilledMessage, "inquiries" | "outcomes">> {
    const inquiries: string[] = [];
    const outcomes: AnswerOutcome["outcome"][] = [];
    while (!signal.aborted) {
      try {
        for (const { id, digest, ...inquiry } of await client.confirmations(signal)) {
          if (inquiry.messageId !== messageId || inquiries.includes(id)) continue;
          inquiries.push(id);
          const answer = { decision: "allow", digest, by: "ann" } as const;
          outcomes.push((await client.answer(id, answer, signal)).outcome);
        }
        await sleep(POLL_EVERY_MS, undefined, { signal });
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
    return { inquiries, outcomes };
  }

  async #startServer(): Promise<Server> {
    const node = this.#restate?.nodes[0] as RestateNode;
    const [port = 0, workerPort = 0] = await freePorts(2);
    const relay = new IngressRelay(node.ingress);
    const ingress = await relay.listen();
    const process = new ServerProcess(
      {
        ...{ port, effects: this.#effects, steps: `${ingress}/steps` },
        restate: {
          ...{ ingress: [ingress], admin: [node.admin], port: workerPort, advertise: this.#advertise },
        },
      },
      join(this.#folder, "servers.log"),
    );
    const server = { process, relay, workerPort };
    // Its registration has Restate ask which services there are: any server knows.
    if (this.#current === undefined) this.#worker.use({ workerPort, steps: undefined });
    await process.start();
    return server;
  }
}
