import { chmodSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

/** A config with an executor, an MCP server, a session store and a journal. */
function config(executor: string, server: string): string {
  return `
tools:
  - name: run
    description: Runs
    inputSchema: { type: object }
    remote: { executor: "${executor}" }
mcp:
  servers:
    files: { url: "${server}/mcp", addresses: [127.0.0.0/8] }
policy: { rules: [] }
sessions: { store: sessions.sqlite }
journal: { directory: journal }
`;
}

/** Starts a server whose every response has a status and a date, and returns its URL. */
async function respond(status: number, aheadMs = 0): Promise<string> {
  const server: Server = createServer((_, response) => {
    response.sendDate = false;
    response.writeHead(status, { date: new Date(Date.now() + aheadMs).toUTCString() }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("sandgate doctor --config", () => {
  test("says that stores can be created, and that peers answer", async () => {
    const [executor, mcp] = [await respond(200), await respond(405)];
    const folder = await createFolder({ "sandgate.yaml": config(executor, mcp) });
    const { code, stdout, stderr } = await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`\nstores:\n  sessions: ${folder}/sessions.sqlite: works\n`);
    expect(stdout).toContain(`\n  journal: ${folder}/journal: works\n`);
    expect(stdout).toMatch(
      new RegExp(`\npeers:\n {2}executor ${executor}: works; its clock is -?[01] s ahead`),
    );
    expect(stdout).toContain(`\n  mcp ${mcp}/mcp: works`);
  });

  test("names peers that are not ready, are not there, or whose clock is wrong", async () => {
    const unready = await createFolder({ "sandgate.yaml": config(await respond(503), await respond(404)) });
    const first = await sandgate(["doctor", "--config", `${unready}/sandgate.yaml`]);
    expect(first.code).toBe(1);
    expect(first.stdout).toMatch(/executor \S+: does not work: it is not ready: it responds with HTTP 503/);
    expect(first.stdout).toMatch(/mcp \S+: does not work: it responds with HTTP 404/);
    const skewed = await createFolder({
      "sandgate.yaml": config(await respond(200, -3_600_000), "http://127.0.0.1:1"),
    });
    const second = await sandgate(["doctor", "--json", "--config", `${skewed}/sandgate.yaml`]);
    expect(second.code).toBe(1);
    const [executor, mcp] = JSON.parse(second.stdout).peers;
    expect(executor.state.reason).toMatch(/^its clock is 3\d\d\d s behind this one/);
    expect(executor.state.remedy).toBe("synchronise both clocks, for example with NTP");
    expect(mcp.state).toMatchObject({ holds: false, reason: expect.stringContaining("ECONNREFUSED") });
  });

  test("names stores that cannot be used, and changes none of them", async () => {
    const url = await respond(200);
    const folder = await createFolder({ "sandgate.yaml": config(url, url), journal: "" });
    const store = `${folder}/sessions.sqlite`;
    using database = new DatabaseSync(store);
    database.exec("PRAGMA application_id = 1399288691; PRAGMA user_version = 9999");
    const newer = await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`]);
    expect(newer.code).toBe(1);
    expect(newer.stdout).toMatch(/sessions: \S+: does not work: the file has format 9999/);
    database.exec("PRAGMA application_id = 7");
    const other = await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`]);
    expect(other.stdout).toMatch(/does not work: the file is a database of another program/);
    writeFileSync(
      `${folder}/text`,
      "not a database, but long enough to be read as the header of one".repeat(20),
    );
    chmodSync(`${folder}/text`, 0o600);
    const text = config(url, url).replace("sessions.sqlite", "text");
    writeFileSync(`${folder}/sandgate.yaml`, text);
    const broken = await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`]);
    expect(broken.stdout).toMatch(/sessions: \S+: does not work: .*not a database/);
  });
});
