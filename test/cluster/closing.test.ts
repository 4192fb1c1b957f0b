import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Tool } from "../../src/engine/tool.ts";
import { MemoryBackend, MemorySpace } from "../../src/record/memory-backend.ts";
import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import type { Sessions } from "../../src/sessions/sessions.ts";
import { hostTool } from "../engine/helpers.ts";
import { program, programPolicy } from "../programs/suspension/setting.ts";
import { openServer } from "./servers.ts";

const SOURCE = `export default async (input, { tools }) => tools.call("pay", {});`;

let one: Sessions;
let two: Sessions;
let ran: string[];
let release: () => void;
let begun: Promise<void>;

beforeEach(async () => {
  ran = [];
  const waiting = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  release = waiting.resolve;
  begun = reached.promise;
  const toolsOf = (server: string): readonly Tool[] => {
    const run = (): string => {
      ran.push(server);
      return server;
    };
    const wait = async (): Promise<string> => {
      reached.resolve();
      await waiting.promise;
      return run();
    };
    return [
      program(SOURCE),
      hostTool(run, { name: "pay", sideEffects: "write" }),
      hostTool(wait, { name: "slow", sideEffects: "write" }),
    ];
  };
  const space = new MemorySpace();
  const more = {
    policy: programPolicy(),
    confirmations: { default: { destructive: "auto", write: "auto" } },
  } as const;
  one = await openServer(new MemoryBackend(space), toolsOf("one"), more);
  two = await openServer(new MemoryBackend(space), toolsOf("two"), more);
});
afterEach(async () => {
  release();
  await Promise.all([one.close(), two.close()]);
});

async function dispatch(name: string) {
  const session = await one.open({ principal: { id: "ann", kind: "user" } });
  const call = { id: "c", name, arguments: {} };
  const results = session.turn({ id: "t" }).dispatchAll([call], { messageId: "m" });
  results.catch(() => {});
  return { session, results };
}

async function onlyQuestionOf(server: Sessions): Promise<Confirmation> {
  return vi.waitFor(() => {
    const [confirmation, ...others] = server.openConfirmations();
    if (confirmation === undefined || others.length > 0) throw new Error("not one question");
    return confirmation;
  }, 20_000);
}

async function resultOnTwo(sessionId: string) {
  return vi.waitFor(async () => {
    const turn = await (await two.find(sessionId))?.findTurn("t");
    const [execution] = (await turn?.messages())?.[0]?.executions ?? [];
    if (execution === undefined) throw new Error("has not ended");
    return execution;
  }, 20_000);
}

describe("A server that is closed", () => {
  test.each(["pay", "program"])("leaves what waits for a person to the other one: %s", async (name) => {
    const { session, results } = await dispatch(name);
    const confirmation = await onlyQuestionOf(one);
    await one.close();
    await expect(results).rejects.toMatchObject({ code: "session_store_failed" });
    expect(await onlyQuestionOf(two)).toEqual(confirmation);
    const answer = { decision: "allow", digest: confirmation.digest, by: "eve" } as const;
    expect((await two.answer(confirmation.id, answer)).outcome).toBe("resolved");
    expect(await resultOnTwo(session.id)).toMatchObject({ success: true });
    expect(ran).toEqual(["two"]);
    expect(two.openConfirmations()).toEqual([]);
  });

  test("lets a call end that runs, whose result counts", async () => {
    const { session, results } = await dispatch("slow");
    await begun;
    const closed = one.close();
    release();
    expect((await results)[0]).toMatchObject({ success: true, output: "one" });
    await closed;
    expect(await resultOnTwo(session.id)).toMatchObject({ success: true, output: "one" });
    expect(ran).toEqual(["one"]);
  });
});
