import { once } from "node:events";
import { expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { Lives } from "./lives.ts";
import { program } from "./setting.ts";

const SOURCE = `export default async (input, { tools }) => {
  let state = 1;
  const held = Uint32Array.from({ length: 3_000_000 }, () => (state = Math.imul(state, 1_664_525) + 1_013_904_223));
  const paid = await tools.call("pay", { to: "x" });
  return paid + held.length;
};`;
const pay = {
  name: "pay",
  description: "",
  inputSchema: { type: "object" },
  sideEffects: "write",
  host: () => 7,
} as Tool;

test("A program whose heap is too large to be written waits in memory, and the operator is warned", async () => {
  const life = await new Lives([program(SOURCE), pay]).begin();
  const warned = once(process, "warning");
  const [results] = await life.call();
  const [{ code, message }] = await warned;
  expect(code).toBe("SANDGATE_NOT_SUSPENDED");
  expect(message).toMatch(/: its heap takes \d+ bytes compressed, and 8 MiB is the most that is written$/);
  expect(await life.suspensions.list()).toEqual([]);
  const [confirmation] = life.sessions.openConfirmations();
  if (confirmation !== undefined) await life.answer(confirmation);
  expect((await results)?.[0]?.output).toBe(3_000_007);
});
