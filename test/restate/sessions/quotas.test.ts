import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

test("Sessions on Restate keep to a limit of calls on all servers together", async () => {
  await using restate = await startRestate();
  const [node] = restate.nodes;
  const [port] = await freePorts(1);
  if (node === undefined || port === undefined) throw new Error("no node");
  const effects: string[] = [];
  const tools = [
    hostTool(({ text }: JsonObject) => effects.push(String(text)), { name: "note", confirm: "auto" }),
    hostTool(() => "done", { name: "other", confirm: "auto" }),
  ];
  const limits = { callsPerTool: { note: 2 }, calls: 3 };
  await using one = await openServer({ node, port, tools, limits });
  await using _two = await openServer({ node, port, tools, limits });
  const turn = (await one.open()).turn();
  const call = (name: string, id: string) => ({ id, name, arguments: { text: id } });
  const notes = await Promise.all(["a", "b", "c", "d"].map((id) => turn.dispatch(call("note", id))));
  expect(notes.filter((result) => result?.success)).toHaveLength(2);
  expect(effects).toHaveLength(2);
  const refused = notes.find((result) => result?.success === false);
  expect(refused?.error?.message).toBe(
    "Permission denied: tool 'note' was called 2 times, its limit in this session",
  );
  const others = await Promise.all(["e", "f"].map((id) => turn.dispatch(call("other", id))));
  expect(others.map((result) => result?.success).sort()).toEqual([false, true]);
});
