import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairQueue } from "../../src/base/fair-queue.ts";

interface Item {
  readonly name: string;
  readonly principal?: string;
  readonly session?: string;
  readonly tool?: string;
}

/** An item with a name such as `ann/1/read#3`: principal, session, tool and number. */
function itemOf(name: string): Item {
  const [principal = "", session = "", tool = ""] = name.split(/[/#]/);
  return { name, principal, session, tool };
}

/** Adds items. The names of a test may leave out the principal and the session: `a1` is the first one of the tool `a`. */
function queueOf(...names: readonly string[]): { queue: FairQueue<Item>; items: Map<string, Item> } {
  const queue = new FairQueue<Item>((item) => item);
  const items = new Map(names.map((name) => [name, name.includes("/") ? itemOf(name) : toolItem(name)]));
  for (const item of items.values()) queue.add(item);
  return { queue, items };
}

const toolItem = (name: string): Item => ({ name, tool: name.slice(0, 1) });

function order(queue: FairQueue<Item>, isFree?: (tool: string | undefined) => boolean): string[] {
  const all: string[] = [];
  for (let item = queue.next(isFree); item !== undefined; item = queue.next(isFree)) all.push(item.name);
  return all;
}

describe("FairQueue", () => {
  test("items of different tools take turns, and those of a tool stay in order", () => {
    const { queue } = queueOf("a1", "a2", "a3", "a4", "b1", "c1", "b2", "c2", "a5");
    expect(queue.size).toBe(9);
    expect(order(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "a4", "a5"]);
    expect([queue.next(), queue.size]).toEqual([undefined, 0]);
  });

  test("principals take turns, then the sessions of a principal, then the tools of a session", () => {
    const { queue } = queueOf(
      "ann/1/a#1",
      "ann/1/a#2",
      "ann/1/b#1",
      "ann/1/a#3",
      "ann/2/a#1",
      "ann/2/a#2",
      "bob/1/a#1",
      "bob/1/a#2",
    );
    expect(order(queue)).toEqual([
      "ann/1/a#1",
      "bob/1/a#1",
      "ann/2/a#1",
      "bob/1/a#2",
      "ann/1/b#1",
      "ann/2/a#2",
      "ann/1/a#2",
      "ann/1/a#3",
    ]);
  });

  test("sessions of different principals may have the same id", () => {
    const { queue } = queueOf("ann/1/a#1", "ann/1/a#2", "bob/1/a#1");
    expect(order(queue)).toEqual(["ann/1/a#1", "bob/1/a#1", "ann/1/a#2"]);
  });

  test("an owner who had the last turn has no other while another one waits", () => {
    const { queue } = queueOf("ann/1/a#1", "ann/1/a#2", "ann/1/a#3");
    expect(queue.next()?.name).toBe("ann/1/a#1");
    queue.add(itemOf("bob/1/a#1"));
    expect(queue.peek()?.name).toBe("bob/1/a#1");
    expect(order(queue)).toEqual(["bob/1/a#1", "ann/1/a#2", "ann/1/a#3"]);
  });

  test("items that are put back are before others of their owner, who may have had the last turn", () => {
    const { queue, items } = queueOf("ann/1/a#1", "ann/1/a#2", "ann/1/a#3");
    const out = [queue.next(), queue.next()] as Item[];
    queue.putBack(out);
    queue.add(itemOf("bob/1/a#1"));
    expect(queue.peek()?.name).toBe("bob/1/a#1");
    expect(order(queue)).toEqual(["bob/1/a#1", "ann/1/a#1", "ann/1/a#2", "ann/1/a#3"]);
    const [only] = [...items.values()];
    queue.putBack([only as Item]);
    queue.hadTurn(only as Item);
    queue.add(itemOf("ann/2/a#1"));
    expect(order(queue)).toEqual(["ann/2/a#1", "ann/1/a#1"]);
  });

  test("it says whether all items are of one owner", () => {
    const { queue } = queueOf("ann/1/a#1", "ann/1/a#2");
    expect(queue.hasOneOwner).toBe(true);
    for (const other of ["ann/1/b#1", "ann/2/a#1", "bob/1/a#1"].map(itemOf)) {
      queue.add(other);
      expect(queue.hasOneOwner).toBe(false);
      expect(queue.delete(other)).toBe(true);
    }
    expect(queue.hasOneOwner).toBe(true);
    queue.takeAll();
    expect(queue.hasOneOwner).toBe(false);
  });

  test("items can be removed, alone, by tool and all at once", () => {
    const { queue, items } = queueOf("a1", "a2", "b1", "b2");
    expect(queue.delete(items.get("a1") as Item)).toBe(true);
    expect(queue.delete(items.get("a1") as Item)).toBe(false);
    expect(queue.takeTool("b").map(({ name }) => name)).toEqual(["b1", "b2"]);
    expect(queue.takeTool("b")).toEqual([]);
    expect(queue.takeAll().map(({ name }) => name)).toEqual(["a2"]);
    expect(order(queue)).toEqual([]);
  });

  test("items keep their turn while their tool may not start one, and do not hinder others", () => {
    const { queue } = queueOf("ann/1/a#1", "bob/1/b#1", "bob/1/a#1");
    expect(order(queue, (tool) => tool !== "a")).toEqual(["bob/1/b#1"]);
    expect(order(queue)).toEqual(["ann/1/a#1", "bob/1/a#1"]);
  });

  test("between two turns of a principal that waits, each other one has at most one", () => {
    const step = fc.oneof(fc.constantFrom("ann", "bob", "cid"), fc.constant(undefined));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<Item>((item) => item);
        const waiting = new Map<string, number>();
        /** The turns of others since each principal waits or had its last turn. */
        const since = new Map<string, string[]>();
        for (const [number, principal] of steps.entries()) {
          if (principal !== undefined) {
            queue.add(itemOf(`${principal}/${number % 2}/a#${number}`));
            if ((waiting.get(principal) ?? 0) === 0) since.set(principal, []);
            waiting.set(principal, (waiting.get(principal) ?? 0) + 1);
            continue;
          }
          const next = queue.next()?.principal;
          if (next === undefined) continue;
          waiting.set(next, (waiting.get(next) ?? 0) - 1);
          for (const [other, turns] of since) if (other !== next) turns.push(next);
          since.set(next, []);
          for (const [other, turns] of since)
            if ((waiting.get(other) ?? 0) > 0) expect(new Set(turns).size).toBe(turns.length);
        }
      }),
    );
  });
});
