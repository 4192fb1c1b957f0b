import { connect, createServer, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { hostTool } from "../../engine/helpers.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../record/postgres-server.ts";
import { LEASE_MS, openServer } from "../servers.ts";

/** Between a server and the database: its way can be cut off, and be there again. */
class Relay {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #target: number;
  isCut = false;

  constructor(target: number) {
    this.#target = target;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as { port: number }).port;
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {});
    if (this.isCut) {
      socket.destroy();
      return;
    }
    const other = connect(this.#target, "127.0.0.1");
    for (const each of [socket, other]) {
      this.#sockets.add(each);
      each
        .on("error", () => {})
        .on("close", () => {
          this.#sockets.delete(each);
          socket.destroy();
          other.destroy();
        });
    }
    socket.pipe(other).pipe(socket);
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

describe.skipIf(NO_POSTGRES !== undefined)(
  "A server that is cut off from the database for longer than its lease",
  () => {
    let postgres: PostgresServer;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres[Symbol.asyncDispose]());

    let relay: Relay;
    let one: Sessions;
    let two: Sessions;
    let effects: string[];
    let release: () => void;
    /** Called when a tool that waits has had its effect. */
    let reached: Promise<void>;

    beforeEach(async () => {
      effects = [];
      const waiting = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      release = waiting.resolve;
      reached = begun.promise;
      const toolsOf = (server: string): readonly Tool[] => {
        const wait = async ({ text }: JsonObject): Promise<string> => {
          effects.push(`${server} ${String(text)}`);
          begun.resolve();
          if (server === "one") await waiting.promise;
          return server;
        };
        return [
          hostTool(wait, { name: "note", sideEffects: "write", confirm: "auto" }),
          hostTool(wait, { name: "put", sideEffects: "write", confirm: "auto", idempotent: true }),
          hostTool(wait, { name: "asks", sideEffects: "write", confirm: "always" }),
        ];
      };
      relay = new Relay(Number(new URL(postgres.url).port));
      const port = await relay.listen();
      const shared = { schema: postgres.newSchema(), leaseMs: LEASE_MS };
      const url = postgres.url.replace(/:\d+\//, `:${port}/`);
      one = await openServer(await PostgresBackend.open({ ...shared, url }), toolsOf("one"));
      two = await openServer(await PostgresBackend.open({ ...shared, url: postgres.url }), toolsOf("two"));
    });
    afterEach(async () => {
      release();
      await Promise.all([one.close(), two.close()]);
      relay.close();
    });

    async function dispatch(name: string) {
      const session = await one.open();
      const call = { id: "c", name, arguments: { text: name } };
      const results = session.turn({ id: "t" }).dispatchAll([call], { messageId: "m" });
      return { session, results };
    }

    /** What the other server has of the message, when all of its calls have ended. */
    async function resultOnTwo(sessionId: string) {
      return vi.waitFor(async () => {
        const turn = await (await two.find(sessionId))?.findTurn("t");
        const [execution] = (await turn?.messages())?.[0]?.executions ?? [];
        if (execution === undefined) throw new Error("has not ended");
        return execution;
      }, 20_000);
    }

    test("leaves a call unknown that may not run twice; what it has of it later does not count", async () => {
      const { session, results } = await dispatch("note");
      await reached;
      relay.cut();
      const known = await resultOnTwo(session.id);
      expect(known.error).toMatchObject({ code: "execution_error", effect: "unknown" });
      relay.isCut = false;
      release();
      expect(await results).toEqual([known]);
      expect(await resultOnTwo(session.id)).toEqual(known);
      expect(effects).toEqual(["one note"]);
    });

    test("leaves an idempotent call to the other one, whose result counts", async () => {
      const { session, results } = await dispatch("put");
      await reached;
      relay.cut();
      expect(await resultOnTwo(session.id)).toMatchObject({ success: true, output: "two" });
      relay.isCut = false;
      release();
      expect((await results)[0]).toMatchObject({ success: true, output: "two" });
      expect(effects).toEqual(["one put", "two put"]);
    });

    test("leaves a question to the other one, which asks nobody again, and cannot begin the call any more", async () => {
      const { session, results } = await dispatch("asks");
      const questions = (server: Sessions): readonly Confirmation[] =>
        server.openConfirmations().filter(({ sessionId }) => sessionId === session.id);
      await vi.waitFor(() => expect(questions(two)).toHaveLength(1), 20_000);
      const [confirmation] = questions(two);
      relay.cut();
      // Longer than the lease: the other server has the call.
      await new Promise((resolve) => setTimeout(resolve, 4 * LEASE_MS));
      expect(questions(two)).toEqual([confirmation]);
      relay.isCut = false;
      const { id = "", digest = "" } = confirmation ?? {};
      expect((await two.answer(id, { decision: "allow", digest, by: "ann" })).outcome).toBe("resolved");
      expect((await results)[0]).toMatchObject({ success: true, output: "two", confirmation: { by: "ann" } });
      expect(effects).toEqual(["two asks"]);
      await vi.waitFor(() => expect([...questions(one), ...questions(two)]).toEqual([]), 20_000);
    });

    test("keeps its calls if the database was away from everyone", async () => {
      const { results } = await dispatch("note");
      await reached;
      await postgres.kill("server");
      await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
      await postgres.start();
      release();
      expect((await results)[0]).toMatchObject({ success: true, output: "one" });
      expect(effects).toEqual(["one note"]);
    });
  },
);
