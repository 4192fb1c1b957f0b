import { expect, test } from "vitest";
import { MemorySuspensionStore } from "../../src/programs/stores/recorded-store.ts";
import { openSuspensions } from "../../src/programs/suspension/suspensions.ts";
import { KEY, program, programPolicy } from "../programs/suspension/setting.ts";
import { type ListedConfirmation, startServer, TestClient, WritingTool } from "./harness.ts";

interface Listed {
  readonly sessionId: string;
  readonly callId: string;
  readonly leftMs: number;
  readonly suspendedAt: number;
  readonly waitUntil: number;
  readonly open: readonly { readonly requestId?: string }[];
}

test("people see the programs that wait, their open calls, and how long they have left", async () => {
  const source = `export default async (input, { tools }) =>
    Promise.all(["x", "y"].map((to) => tools.call("pay_bill", { to }).then(() => to)));`;
  await using suspensions = openSuspensions({ keys: [KEY] });
  const server = await startServer([program(source), new WritingTool("pay_bill").tool], {
    suspensions,
    policy: programPolicy(),
    sessions: { confirmations: { default: { destructive: "auto" } } },
  });
  const [alice, carol, mallory] = (["alice", "carol", "mallory"] as const).map(
    (name) => new TestClient(server, name),
  ) as [TestClient, TestClient, TestClient];
  const { id } = JSON.parse((await alice.send("POST", "/v1/sessions", {})).text) as { readonly id: string };
  const calls = [{ id: "c1", name: "program", arguments: {} }];
  await alice.send("POST", `/v1/sessions/${id}/turns`, { turnId: "t1", messageId: "m1", calls });
  const confirmations = async (): Promise<readonly ListedConfirmation[]> => {
    const listed = (await carol.confirmations()) as readonly ListedConfirmation[];
    return listed.length === 2 ? listed : confirmations();
  };
  const asked = await confirmations();
  const list = async (client: TestClient): Promise<readonly Listed[]> =>
    (JSON.parse((await client.send("GET", "/v1/programs")).text) as { readonly programs: readonly Listed[] })
      .programs;
  const [one] = await list(carol);
  expect(one).toMatchObject({
    sessionId: id,
    turnId: "t1",
    messageId: "m1",
    callId: "c1",
    principal: "alice",
    toolName: "program",
    open: [
      { callId: "c1/1", toolName: "pay_bill", requestId: asked[0]?.requestId },
      { callId: "c1/2", toolName: "pay_bill", requestId: asked[1]?.requestId },
    ],
  });
  const week = 7 * 24 * 3_600_000;
  expect((one?.waitUntil ?? 0) - (one?.suspendedAt ?? 0)).toBe(week);
  expect(one?.leftMs).toBeLessThanOrEqual(week);
  expect(await list(mallory)).toEqual([]);
  expect((await alice.send("GET", "/v1/programs")).status).toBe(403);
  for (const confirmation of asked) await carol.answer(confirmation as never, { decision: "allow" });
  expect(await alice.executions(id, "t1")).toMatchObject([{ output: ["x", "y"] }]);
  expect(await list(carol)).toEqual([]);
});

test("a store of programs that fails is 503, and tells clients nothing of itself", async () => {
  class FailingStore extends MemorySuspensionStore {
    isFailing = false;
    override list(): ReturnType<MemorySuspensionStore["list"]> {
      if (this.isFailing) throw new Error("/var/lib/programs.db: the disk is full");
      return super.list();
    }
  }
  const store = new FailingStore();
  await using suspensions = openSuspensions({ keys: [KEY], store });
  const server = await startServer([new WritingTool("pay_bill").tool], { suspensions });
  store.isFailing = true;
  const { status, text } = await new TestClient(server, "carol").send("GET", "/v1/programs");
  expect(status).toBe(503);
  expect(text).toContain("store_failed");
  expect(text).not.toContain("/var/lib");
});
