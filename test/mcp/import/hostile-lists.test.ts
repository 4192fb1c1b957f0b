import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { hostTool } from "../../engine/helpers.ts";
import { hostile, open } from "./open-hostile.ts";

/** The names of the tools that are registered of a server in a mode, and what operators read. */
async function listed(mode: string) {
  await using opened = await open({ h: hostile(mode) });
  const problems = opened.notices.filter(({ kind }) => kind === "problem").map(({ message }) => message);
  return { names: opened.registry.names, problems, server: opened.mcp.servers.get("h") };
}

describe("The tools of a hostile server", () => {
  test("are those of all pages", async () => {
    expect((await listed("pages")).names).toEqual(["mcp_h_first", "mcp_h_second"]);
  });

  test("do not include two with one name, which costs no other tool", async () => {
    const { names, problems } = await listed("two-of-a-name");
    expect(names).toEqual(["mcp_h_good"]);
    expect(problems).toEqual(["server 'h' has several tools that would be called mcp_h_x: 'x' and 'x'"]);
  });

  test("do not include those whose definitions are malformed, or refer to files or the network", async () => {
    const { names, problems } = await listed("bad-schemas");
    expect(names).toEqual(["mcp_h_good"]);
    expect(problems).toHaveLength(10);
  });

  test("can be ten thousand", async () => {
    const { names } = await listed("ten-thousand");
    expect(names).toHaveLength(10_000);
  });

  test.each([
    ["too-many", "it has more than 10000 tools"],
    ["list-loop", "a page of its list of tools leads back to an earlier one"],
    ["list-endless", "its list of tools has more than 256 pages"],
    ["list-no-list", "its list of tools is not a list"],
    ["list-big-cursor", "a page of its list of tools has a cursor that is not a short string"],
  ])("are none if the list is without bounds or malformed (%s)", async (mode, problem) => {
    const { names, server } = await listed(mode);
    expect(names).toEqual([]);
    expect(server).toMatchObject({ problem, tools: [] });
  });

  test("do not include one whose schema has 3 MB", async () => {
    const { names, problems } = await listed("three-megabyte-schema");
    expect(names).toEqual(["mcp_h_good"]);
    expect(problems).toHaveLength(1);
  });

  test("have names without control characters", async () => {
    expect((await listed("control-characters")).names).toEqual(["mcp_h_a__2Jb__", "mcp_h_good"]);
  });

  test("are destructive, whatever their hints say", async () => {
    await using opened = await open({ h: hostile("false-hints") });
    expect(opened.registry.get("mcp_h_x").sideEffects).toBe("destructive");
  });

  test("have the class that the embedder gives them", async () => {
    await using opened = await open({ h: hostile("false-hints") }, { classes: { "mcp_h_*": "read" } });
    expect(opened.registry.get("mcp_h_x").sideEffects).toBe("read");
  });

  test("with slow patterns are checked in linear time", async () => {
    await using opened = await open({ h: hostile("slow-pattern") });
    const { error } = await opened.call("mcp_h_slow", { a: `${"a".repeat(50_000)}!` });
    expect(error?.code).toBe("validation_error");
  });

  test("are listed again when the server says that they changed", async () => {
    await using opened = await open({ h: hostile("changing") });
    expect(opened.registry.names).toEqual(["mcp_h_x", "mcp_h_old"]);
    await expect.poll(() => opened.registry.names, { timeout: 5_000 }).toEqual(["mcp_h_x", "mcp_h_new"]);
    expect(opened.registry.get("mcp_h_x").description).toBe("changed");
  });

  test("are listed twice a second at most, however often the server says so", async () => {
    await using opened = await open({ h: hostile("list-changed-flood") });
    const connection = opened.mcp.servers.get("h")?.connection;
    let lists = 0;
    const list = connection?.listTools.bind(connection);
    Object.assign(connection ?? {}, {
      listTools: () => {
        lists++;
        return list?.();
      },
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lists).toBeGreaterThan(0);
    expect(lists).toBeLessThan(5);
    expect((await opened.call("mcp_h_x")).success).toBe(true);
  });
});

describe("Two servers", () => {
  test("with the same names of tools are told apart", async () => {
    await using opened = await open({ one: hostile("ok"), two: hostile("exit-once") });
    expect(opened.registry.names).toEqual(["mcp_one_x", "mcp_two_x"]);
    const [one, two] = await Promise.all([opened.call("mcp_one_x"), opened.call("mcp_two_x")]);
    expect(one.output).toEqual({ content: [{ type: "text", text: "ok: x {}" }] });
    expect(JSON.stringify(two.output)).toContain("pid ");
  });

  test.each([
    [
      ["one", "one_two"],
      ["two_x", "x"],
    ],
    [
      ["one_two", "one"],
      ["x", "two_x"],
    ],
  ])("that want one name both do not get it, whatever their order is", async (servers, tools) => {
    const [first = "", second = ""] = servers;
    const [its = "", other = ""] = tools;
    await using opened = await open({ [first]: hostile("named", its), [second]: hostile("named", other) });
    expect(opened.registry.names).toEqual([]);
    expect(opened.notices).toContainEqual({
      kind: "problem",
      server: second,
      message: `'${other}' of server '${second}' would be called mcp_one_two_x: the servers '${first}' and '${second}' have such a tool, and neither is registered`,
    });
  });

  test("do not replace a tool that is registered already", async () => {
    const registry = new ToolRegistry().register(hostTool(() => "own", { name: "mcp_h_x" }));
    await using opened = await open({ h: hostile("ok") }, { registry });
    expect(registry.get("mcp_h_x").remote).toBeUndefined();
    expect(opened.notices.map(({ message }) => message)).toContain(
      "'x' of server 'h' would be called mcp_h_x: a tool of that name is registered already",
    );
  });
});
