import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { RouteAccess } from "../../../src/http/access.ts";
import type { Credential } from "../../../src/http/clients.ts";
import { Client, mayUse } from "../../../src/http/clients.ts";
import { startConsole } from "../console/console.ts";
import {
  type ClientName,
  ROUTE_ACCESS,
  refusalOf,
  TestClient,
  WITH_EXECUTOR,
  WritingTool,
} from "../harness.ts";

interface Operation {
  readonly "x-roles"?: readonly string[];
  readonly "x-session"?: string;
  readonly security?: readonly object[];
}
const DOCUMENT = parse(readFileSync(new URL("../../../docs/openapi.yaml", import.meta.url), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
/** Without an upgrade, the path of framed connections does not exist: the tests of frames send one. */
const ROUTES = Object.entries(ROUTE_ACCESS).filter(
  ([route, { roles }]) => roles.length > 0 && route !== "GET /v1/frames",
);
/** The caller of the session comes last, as it may close it. */
const NAMES: readonly ClientName[] = ["heidi", "bob", "carol", "mallory", "erin", "frank", "alice"];
const ALICE = { principal: { id: "alice" } };

function clientOf(name: ClientName): Client {
  const credential = WITH_EXECUTOR.credentials?.find(({ id }) => id === name) as Credential;
  const principal = { id: name, kind: "user" } as const;
  return new Client({ caller: name, credential: "", principal, isSigned: false }, credential);
}

/** What becomes of a request of a client: `404` if it must not learn that the session is there. */
function expected(access: RouteAccess, client: Client): "403" | "404" | "served" {
  if (access.session !== undefined && !client.sees(ALICE)) return "404";
  return mayUse(access, client, ALICE) ? "served" : "403";
}

describe("who may use each route", () => {
  test("is in docs/openapi.yaml, for every route and no others", () => {
    const documented = Object.entries(DOCUMENT.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => [
        `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
        { roles: operation["x-roles"] ?? [], session: operation["x-session"] },
      ]),
    );
    expect(Object.fromEntries(documented)).toEqual(
      Object.fromEntries(
        Object.entries(ROUTE_ACCESS).map(([route, { roles, session }]) => [route, { roles, session }]),
      ),
    );
  });

  test.each(ROUTES)("holds for %s", async (route, access) => {
    const server = await startConsole([new WritingTool().tool], { ...WITH_EXECUTOR, mcp: {} });
    const session = await new TestClient(server, "alice").open();
    const [method = "", template = ""] = route.split(" ");
    const path = template.replace(":id", session).replaceAll(/:\w+/g, "unknown");
    // What is served would last.
    const lasts = path.endsWith("/events");
    for (const name of NAMES) {
      const outcome = expected(access, clientOf(name));
      if (outcome === "served" && lasts) continue;
      const body = method === "GET" || method === "DELETE" ? undefined : {};
      const answer = await new TestClient(server, name).send(method, path, body);
      if (outcome === "served") expect([name, answer.status]).not.toEqual([name, 403]);
      else expect([name, refusalOf(answer)]).toEqual([name, `${outcome} ${CODES[outcome]}`]);
      if (outcome === "403")
        expect(JSON.parse(answer.text)).toMatchObject({ error: { message: access.refusal } });
    }
  });

  test("depends on the roles of a client, and not on its name", () => {
    const both = new Client(
      { caller: "a", credential: "", principal: { id: "a", kind: "user" }, isSigned: false },
      { roles: ["caller", "reader"] },
    );
    const may = (route: string): boolean => mayUse(ROUTE_ACCESS[route] as RouteAccess, both, ALICE);
    expect(may("GET /v1/sessions")).toBe(true);
    expect(may("POST /v1/sessions")).toBe(true);
    expect(may("GET /v1/sessions/:id")).toBe(true);
    expect(may("DELETE /v1/sessions/:id")).toBe(false);
    expect(may("GET /v1/confirmations")).toBe(false);
    expect(may("POST /v1/pause")).toBe(false);
  });
});

const CODES = { "403": "forbidden", "404": "not_found" } as const;
